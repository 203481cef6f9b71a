import { AsyncLocalStorage } from 'node:async_hooks';
import { Controller, Get, Injectable, Param, Res } from '@nestjs/common';
import {
  Bulkhead,
  Resilience,
  ResilienceContext,
  ResilienceService,
  ResilienceTimeoutError,
  Retry,
  RetryPolicy,
  Signal,
  Timeout,
  type ResiliencePolicy,
} from '@nestjs/resilience';
import { beforeEach, expect, it, vi } from 'vitest';
import { freezeTime, onBothAdapters } from './fixtures/application.js';
import { Backend, isPending, turns } from './fixtures/backend.js';

let backend: Backend;
const down = new Error('down');

beforeEach(() => {
  backend = new Backend();
});

@Injectable()
class Client {
  readonly seen: unknown[] = [];

  constructor(private readonly context: ResilienceContext) {}

  get(): Promise<unknown> {
    const { signal, attempt } = this.context;
    this.seen.push(attempt);

    return backend.call(signal);
  }
}

@Injectable()
class PolicyClient {
  private readonly policy: ResiliencePolicy;

  constructor(resilience: ResilienceService) {
    this.policy = resilience.create({ retry: { attempts: 5, backoff: { delay: 30 } } }, 'inner');
  }

  inherit(): Promise<unknown> {
    return this.policy.execute(({ signal }) => backend.call(signal));
  }

  detach(): Promise<unknown> {
    return this.policy.execute(({ signal }) => backend.call(signal), { detached: true });
  }

  join(signal: AbortSignal): Promise<unknown> {
    return new RetryPolicy(5).execute((attempt) => backend.call(attempt.signal), { signal });
  }
}

const own = { controller: new AbortController() };

@Controller()
class SignalsController {
  constructor(
    private readonly client: Client,
    private readonly policies: PolicyClient,
  ) {}

  @Get('parameter/:id')
  @Timeout(100)
  @Retry({ attempts: 2, backoff: { delay: 20, jitter: 'none' } })
  parameter(@Param('id') _id: string, @Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @Get('context')
  @Timeout(100)
  @Retry({ attempts: 2, backoff: { delay: 20, jitter: 'none' } })
  context() {
    return this.client.get();
  }

  @Get('undecorated')
  undecorated(@Signal() signal?: AbortSignal) {
    return { parameter: signal === undefined, context: this.client.seen };
  }

  @Get('capped')
  @Bulkhead()
  capped(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @Get('inherited')
  @Timeout(100)
  inherited() {
    return this.policies.inherit();
  }

  @Get('detached')
  @Timeout(100)
  detached() {
    return this.policies.detach();
  }

  @Get('joined')
  @Timeout(100)
  joined() {
    return this.policies.join(own.controller.signal);
  }

  @Get('deaf')
  @Timeout(100)
  deaf() {
    return backend.call();
  }

  @Get('late-writer')
  @Timeout(100)
  async lateWriter(@Res() response: { send(body: string): void }) {
    response.send(String(await backend.call()));
  }
}

onBothAdapters('The signal of an attempt', (start) => {
  const startSignals = () => start({ controllers: [SignalsController], providers: [Client, PolicyClient] });

  it('aborts with the very error that the attempt failed with, one signal per attempt', async () => {
    const { call } = await startSignals();
    freezeTime();
    const answer = call('/parameter/1');

    const first = await backend.reached(1);
    expect(first.signal?.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(100 + 20);
    const second = await backend.reached(2);
    expect(second.signal).not.toBe(first.signal);
    expect(first.signal?.reason).toBeInstanceOf(ResilienceTimeoutError);
    expect(first.signal?.reason).toMatchObject({ policy: 'SignalsController.parameter', timeoutMs: 100 });
    expect(second.signal?.aborted).toBe(false);

    await vi.advanceTimersByTimeAsync(100);
    expect((await answer).status).toBe(504);
    expect(backend.states).toEqual(['cancelled', 'cancelled']);
  });

  it('never aborts after a success, whatever the clock does', async () => {
    const { call } = await startSignals();
    freezeTime();
    const answer = call('/parameter/1');
    const running = await backend.reached(1);
    running.answer('fine');

    expect((await answer).text).toBe('fine');
    await vi.advanceTimersByTimeAsync(60_000);
    expect(running.signal?.aborted).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('of one request leaves the other requests alone', async () => {
    const { call } = await startSignals();
    freezeTime();
    const early = call('/parameter/1');
    const first = await backend.reached(1);
    await vi.advanceTimersByTimeAsync(60);
    const late = call('/parameter/2');
    const second = await backend.reached(2);

    await vi.advanceTimersByTimeAsync(40);
    expect([first.signal?.aborted, second.signal?.aborted]).toEqual([true, false]);
    second.answer('second');
    expect((await late).text).toBe('second');

    await vi.advanceTimersByTimeAsync(20);
    (await backend.reached(3)).answer('first');
    expect((await early).text).toBe('first');
  });

  it('reaches services through ResilienceContext, with the number of the attempt', async () => {
    const { call, app } = await startSignals();
    freezeTime();
    const answer = call('/context');
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(100 + 20);
    const second = await backend.reached(2);
    second.answer('fine');

    expect((await answer).text).toBe('fine');
    expect(app.get(Client).seen).toEqual([1, 2]);
    expect(backend.states).toEqual(['cancelled', 'answered']);
  });

  it('is there for every handler with a plan, one without a limit too', async () => {
    backend.script((call) => call.answer('fine'));
    const { call } = await startSignals();

    await call('/capped');

    expect(backend.calls[0]?.signal).toBeInstanceOf(AbortSignal);
  });

  it('is undefined for a handler without a plan', async () => {
    const { call } = await startSignals();

    expect((await call('/undecorated')).body).toMatchObject({ parameter: true });
  });

  it('is inherited by a policy object, whose retries end with it', async () => {
    const { call } = await startSignals();
    freezeTime();
    const answer = call('/inherited');
    const inner = await backend.reached(1);

    await vi.advanceTimersByTimeAsync(100);

    expect((await answer).status).toBe(504);
    expect(inner.signal?.reason).toMatchObject({ policy: 'SignalsController.inherited' });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(backend.calls).toHaveLength(1);
  });

  it('ends the wait of a policy object between two attempts too', async () => {
    backend.script((call) => call.fail(down));
    const { call } = await startSignals();
    vi.spyOn(Math, 'random').mockReturnValue(0.999);
    freezeTime();
    const answer = call('/inherited');
    await backend.reached(1);

    await vi.advanceTimersByTimeAsync(100);
    expect((await answer).status).toBe(504);
    const made = backend.calls.length;
    await vi.advanceTimersByTimeAsync(10_000);

    expect(backend.calls).toHaveLength(made);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('does not reach work that was detached from it', async () => {
    const { call } = await startSignals();
    freezeTime();
    const answer = call('/detached');
    const inner = await backend.reached(1);

    await vi.advanceTimersByTimeAsync(100);

    expect((await answer).status).toBe(504);
    expect(inner.signal?.aborted).toBe(false);
    inner.answer('late');
  });

  it('joins a signal of the caller: either ends the call, with its own reason', async () => {
    const { call } = await startSignals();
    freezeTime();
    own.controller = new AbortController();
    const cancelled = call('/joined');
    const first = await backend.reached(1);
    const reason = new Error('cancelled by hand');
    own.controller.abort(reason);
    expect((await cancelled).status).toBe(500);
    expect(first.signal?.reason).toBe(reason);

    own.controller = new AbortController();
    const late = call('/joined');
    const second = await backend.reached(2);
    await vi.advanceTimersByTimeAsync(100);
    expect((await late).status).toBe(504);
    expect(second.signal?.reason).toBeInstanceOf(ResilienceTimeoutError);
  });
});

onBothAdapters('A handler that ignores its signal', (start) => {
  const startSignals = () => start({ controllers: [SignalsController], providers: [Client, PolicyClient] });

  it.each([
    ['result', (call: { answer(value: unknown): void }) => call.answer('late')],
    ['failure', (call: { fail(error: unknown): void }) => call.fail(new Error('late'))],
  ])('is answered for at the limit; its late %s is dropped', async (_, end) => {
    const { call, log } = await startSignals();
    freezeTime();
    const answer = call('/deaf');
    const running = await backend.reached(1);

    await vi.advanceTimersByTimeAsync(99);
    expect(await isPending(answer)).toBe(true);
    await vi.advanceTimersByTimeAsync(1);
    expect((await answer).status).toBe(504);

    end(running as never);
    await turns();
    expect(log.errors).toEqual([]);
  });

  it('and writes the response itself later is not heard: the client has its 504, the server lives on', async () => {
    const { call, log } = await startSignals();
    freezeTime();
    const answer = call('/late-writer');
    const running = await backend.reached(1);
    await vi.advanceTimersByTimeAsync(100);
    const { status, body } = await answer;
    expect(status).toBe(504);
    expect(body).toMatchObject({ code: 'TIMEOUT' });

    running.answer('too late');
    await turns();
    expect(log.errors).toEqual([]);
    expect((await call('/undecorated')).status).toBe(200);
  });
});

const request = new AsyncLocalStorage<string>();

@Controller('storage')
class StorageController {
  @Get('retried')
  @Retry({ attempts: 3, backoff: { delay: 50 } })
  @Timeout(1_000)
  async retried() {
    const before = request.getStore();
    await backend.call();
    return { before, after: request.getStore() };
  }

  @Get('queued')
  @Bulkhead({ maxConcurrent: 1, maxQueue: 5 })
  async queued() {
    const before = request.getStore();
    await backend.call();
    return { before, after: request.getStore() };
  }

  @Get('rationed')
  @Resilience('rationed')
  async rationed() {
    const before = request.getStore();
    await backend.call();
    return { before, after: request.getStore() };
  }

  @Get('limited')
  @Timeout(100)
  @Retry({ attempts: 2, backoff: { delay: 50 } })
  async limited(@Signal() signal: AbortSignal) {
    const before = request.getStore();
    await backend.call(signal);
    return { before, after: request.getStore() };
  }
}

onBothAdapters('What a middleware put into AsyncLocalStorage', (start) => {
  const startStorage = () =>
    start({
      controllers: [StorageController],
      options: { presets: { rationed: { outboundRateLimit: { limit: 1, interval: 30, maxWait: '1s' } } } },
      middleware: (consumer) =>
        consumer
          .apply((incoming: { headers: Record<string, string> }, _response: unknown, next: () => void) =>
            request.run(incoming.headers['x-user'] ?? 'nobody', next),
          )
          .forRoutes(StorageController),
    });
  const as = (user: string) => ({ headers: { 'x-user': user } });

  it('is intact in every attempt', async () => {
    backend.script((call, nth) => (nth % 3 === 0 ? call.answer('fine') : call.fail(down)));
    const { call } = await startStorage();

    expect((await call('/storage/retried', as('ann'))).body).toEqual({ before: 'ann', after: 'ann' });
    expect((await call('/storage/retried', as('bob'))).body).toEqual({ before: 'bob', after: 'bob' });
  });

  it('is intact in the attempt after a timeout', async () => {
    const { call } = await startStorage();
    freezeTime();
    const answer = call('/storage/limited', as('ann'));
    await backend.reached(1);
    await request.run('somebody else', () => vi.advanceTimersByTimeAsync(150));
    (await backend.reached(2)).answer('fine');

    expect((await answer).body).toEqual({ before: 'ann', after: 'ann' });
  });

  it('is intact after the wait for a token', async () => {
    backend.script((call) => call.answer('fine'));
    const { call } = await startStorage();

    const [ann, bob] = await Promise.all([call('/storage/rationed', as('ann')), call('/storage/rationed', as('bob'))]);

    expect([ann.body, bob.body]).toEqual([
      { before: 'ann', after: 'ann' },
      { before: 'bob', after: 'bob' },
    ]);
  });

  it('is intact after a wait in the queue, although another request gave the slot back', async () => {
    const { call } = await startStorage();
    const ann = call('/storage/queued', as('ann'));
    const first = await backend.reached(1);
    const bob = call('/storage/queued', as('bob'));
    expect(await isPending(bob)).toBe(true);

    first.answer('fine');
    (await backend.reached(2)).answer('fine');

    expect((await ann).body).toEqual({ before: 'ann', after: 'ann' });
    expect((await bob).body).toEqual({ before: 'bob', after: 'bob' });
  });
});
