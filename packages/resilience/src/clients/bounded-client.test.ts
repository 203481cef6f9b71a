import { ClientKafka, ClientProxy, ClientTCP, type WritePacket } from '@nestjs/microservices';
import { BudgetPolicy } from 'holdfast';
import { lastValueFrom, NEVER, of, type Observable } from 'rxjs';
import { describe, expect, it, vi } from 'vitest';
import { boundedClient } from './bounded-client.js';

interface Sent {
  readonly topic: string;
  readonly messages: readonly { readonly headers: Readonly<Record<string, unknown>> }[];
}

/** A real client, with a producer that keeps what it is given. */
function kafka(): { readonly client: ClientKafka; readonly sent: Sent[] } {
  const sent: Sent[] = [];
  const client = new ClientKafka({ client: { brokers: [] }, producerOnlyMode: true });
  vi.spyOn(client, 'connect').mockResolvedValue(undefined as never);
  Object.assign(client, {
    _producer: { send: (message: Sent) => Promise.resolve(void sent.push(message)), disconnect: () => {} },
    consumerAssignments: { 'stock.reply': 0 },
  });

  return { client, sent };
}

const HEADER = 'x-request-timeout-ms';

describe('A bounded client of Kafka', () => {
  it.each([
    ['a plain value', { sku: 1 }],
    ['a message', { key: 'a', value: { sku: 1 }, headers: { 'x-trace': 'abc' } }],
    ['a message without headers', { value: 'text' }],
  ])('carries what is left in the headers of %s', async (_what, data) => {
    const { client, sent } = kafka();
    const bounded = boundedClient(client, { header: HEADER });
    await new BudgetPolicy(1_000_000).execute(() => lastValueFrom(bounded.emit('moved', data), { defaultValue: 0 }));

    const [{ headers } = { headers: {} }] = sent[0]?.messages ?? [];
    expect(headers[HEADER]).toMatch(/^(?:1000000|99\d{4})$/);
    expect(headers['x-trace']).toBe((data as { headers?: Record<string, unknown> }).headers?.['x-trace']);
    expect(JSON.stringify(data)).not.toContain(HEADER);
  });

  it('carries it with requests, beside what Nest puts there', async () => {
    const { client, sent } = kafka();
    const bounded = boundedClient(client, { header: HEADER });
    const answer = new BudgetPolicy(50).execute(() => lastValueFrom(bounded.send('stock', { sku: 1 })));

    await expect(answer).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    expect(Object.keys(sent[0]?.messages[0]?.headers ?? {})).toEqual([
      HEADER,
      'kafka_correlationId',
      'kafka_replyTopic',
      'kafka_replyPartition',
    ]);
  });
});

describe('A bounded client', () => {
  it.each([undefined, null, {}, { send: () => of(1) }])('is made of a client: not of %j', (client) => {
    expect(() => boundedClient(client as never)).toThrow(
      'client: expected a ClientProxy of @nestjs/microservices, with send() and emit().',
    );
  });

  it('names a header that carries deadlines', () => {
    const { client } = kafka();

    expect(() => boundedClient(client, { header: 'x-trace' })).toThrow(/^header: "x-trace" is no header that carries/);
    expect(() => boundedClient(client, { headers: HEADER } as never)).toThrow(/headers/);
  });

  it('is a client like the one that it bounds, whose life the application rules', async () => {
    const { client } = kafka();
    Object.assign(client, { onApplicationShutdown: () => {} });
    const bounded = boundedClient(client);

    expect(bounded).toBeInstanceOf(ClientProxy);
    expect((bounded as { onApplicationShutdown?: unknown }).onApplicationShutdown).toBeUndefined();
    await bounded.close();
    expect((client as unknown as { _producer: unknown })._producer).toBeNull();
  });

  it('bounds clients of transports that it does not know, which carry nothing', async () => {
    class Own {
      readonly #seen: unknown[] = [];
      send(_pattern: unknown, data: unknown) {
        this.#seen.push(data);
        return NEVER;
      }
      emit() {
        return of(this.#seen.length);
      }
      seen() {
        return this.#seen;
      }
    }
    const bounded = boundedClient(new Own(), { header: HEADER });
    const answer = new BudgetPolicy(20).execute(() => lastValueFrom(bounded.send('stock', 'data')));

    await expect(answer).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    expect(bounded.seen()).toEqual(['data']);
  });

  describe('of a class with private members', () => {
    /** As applications extend Nest's clients; how it reads what is its own differs. */
    class Counting extends ClientTCP {
      #sent = 0;
      #count(): void {
        this.#sent += 1;
      }
      constructor(private readonly read: 'field' | 'method' | 'nothing' | 'setter') {
        super({});
      }
      override connect(): Promise<never> {
        return Promise.resolve() as Promise<never>;
      }
      protected override publish(_packet: unknown, callback: (answer: WritePacket) => void): () => void {
        this.touch();
        callback({ response: 'fine', isDisposed: true });
        return () => {};
      }
      protected override dispatchEvent<T>(): Promise<T> {
        this.touch();
        return Promise.resolve('fine' as T);
      }
      private touch(): void {
        if (this.read === 'field') void (this.#sent + 1);
        if (this.read === 'setter') this.#sent = 1;
        if (this.read === 'method') this.#count();
      }
    }
    const inAttempt = (ask: () => Observable<unknown>) =>
      new BudgetPolicy(1_000).execute(() => lastValueFrom(ask(), { defaultValue: 'nothing' }));

    it.each(['field', 'method', 'setter'] as const)(
      'says why its messages cannot carry a header, and how they can be sent: %s',
      async (read) => {
        const bounded = boundedClient(new Counting(read), { header: HEADER });
        const refusal = /^header: a message of Counting cannot carry a header, since that class reads private members/;

        for (const ask of [() => bounded.send('stock', {}), () => bounded.emit('moved', {})]) {
          const error: unknown = await inAttempt(ask).catch((reason: unknown) => reason);
          expect(error).toBeInstanceOf(TypeError);
          expect((error as Error).message).toMatch(refusal);
        }
      },
    );

    it('sends when they are not read, or when nothing is carried', async () => {
      for (const bounded of [
        boundedClient(new Counting('nothing'), { header: HEADER }),
        boundedClient(new Counting('field')),
      ]) {
        expect(await inAttempt(() => bounded.send('stock', {}))).toBe('fine');
      }
    });

    it('passes every other error on', async () => {
      const lost = new TypeError('lost');
      class Losing extends Counting {
        override send(_pattern: unknown, _data: unknown): never {
          throw lost;
        }
        override emit(_pattern: unknown, _data: unknown): never {
          throw lost;
        }
      }
      const bounded = boundedClient(new Losing('nothing'), { header: HEADER });

      await expect(inAttempt(() => bounded.send('stock', {}))).rejects.toBe(lost);
      await expect(inAttempt(() => bounded.emit('moved', {}))).rejects.toBe(lost);
    });
  });
});
