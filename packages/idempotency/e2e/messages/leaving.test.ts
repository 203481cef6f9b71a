import type { AddressInfo, Server } from 'node:net';
import { Controller } from '@nestjs/common';
import { ClientProxyFactory, MessagePattern, Transport, type ClientProxy } from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import { firstValueFrom, Subject, toArray, type Observable } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  IdempotencyEvents,
  IdempotencyModule,
  IdempotencyStorage,
  Idempotent,
  InMemoryIdempotencyStore,
  type IdempotencyEvent,
} from '../../src/index.js';
import { CapturedLog } from '../fixtures/captured-log.js';
import { newGate, type Gate } from '../fixtures/gate.js';
import { afterTest, cleanUp } from '../fixtures/microservice.js';

let runs: number;
let answer: Subject<number>;
let lock: Gate | undefined;

beforeEach(() => {
  runs = 0;
  answer = new Subject();
  lock = undefined;
});

afterEach(cleanUp);

@Controller()
class Orders {
  @MessagePattern('create')
  @Idempotent({ required: true })
  create(): Observable<number> {
    runs += 1;
    return answer;
  }
}

class SlowLocks extends InMemoryIdempotencyStore {
  override async acquire(...given: Parameters<InMemoryIdempotencyStore['acquire']>) {
    await lock?.opened;
    return await super.acquire(...given);
  }
}

async function start() {
  const module = await Test.createTestingModule({
    imports: [IdempotencyModule.forRoot({})],
    controllers: [Orders],
    providers: [
      {
        provide: SlowLocks,
        inject: [IdempotencyStorage],
        useFactory: (storage: IdempotencyStorage) => {
          const store = new SlowLocks();
          storage.registerSource(store);
          return store;
        },
      },
    ],
  })
    .setLogger(new CapturedLog())
    .compile();
  const app = module.createNestMicroservice({ transport: Transport.TCP, options: { host: '127.0.0.1', port: 0 } });
  await app.listen();
  afterTest(() => app.close());
  const events: IdempotencyEvent[] = [];
  app.get(IdempotencyEvents).events$.subscribe((event) => events.push(event));
  const server = app.unwrap<Server>();
  const { port } = server.address() as AddressInfo;

  return {
    types: () => events.map(({ type }) => type),
    connected: () => new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count))),
    client(): ClientProxy {
      const client = ClientProxyFactory.create({ transport: Transport.TCP, options: { host: '127.0.0.1', port } });
      afterTest(() => client.close());
      return client;
    },
  };
}

const call = (client: ClientProxy): Promise<number[]> =>
  firstValueFrom(client.send<number>('create', { idempotencyKey: 'k' }).pipe(toArray()));

/** Nest's server goes on with what a client has asked for. */
describe('When a client over TCP leaves', () => {
  const leaveDuring = async (isUnderWay: () => void) => {
    const started = await start();
    const client = started.client();
    const left = client.send('create', { idempotencyKey: 'k' }).subscribe({ error: () => {} });
    await vi.waitFor(isUnderWay);
    left.unsubscribe();
    void client.close();
    await vi.waitFor(async () => expect(await started.connected()).toBe(0));

    return started;
  };

  it('while its handler runs, it finds the answer when it comes back', async () => {
    const { client, types } = await leaveDuring(() => expect(runs).toBe(1));
    answer.next(7);
    answer.complete();
    await vi.waitFor(() => expect(types()).toContain('stored'));

    expect(await call(client())).toEqual([7]);
    expect(runs).toBe(1);
  });

  it('while its key is being locked, its handler still runs, once', async () => {
    const acquire = vi.spyOn(SlowLocks.prototype, 'acquire');
    lock = newGate();
    const { client, types } = await leaveDuring(() => expect(acquire).toHaveBeenCalled());
    expect(runs).toBe(0);
    lock.open();
    await vi.waitFor(() => expect(runs).toBe(1));
    answer.next(7);
    answer.complete();
    await vi.waitFor(() => expect(types()).toContain('stored'));

    expect(await call(client())).toEqual([7]);
    expect(runs).toBe(1);
  });

  it('during a stream, its key is free when the stream has ended', async () => {
    const { client, types } = await leaveDuring(() => {
      expect(runs).toBe(1);
      for (const value of [1, 2]) answer.next(value);
    });
    await expect(call(client())).rejects.toMatchObject({ code: 'IDEMPOTENCY_KEY_IN_USE' });
    answer.complete();
    await vi.waitFor(() => expect(types()).toContain('released'));
    answer = new Subject();
    const again = call(client());
    await vi.waitFor(() => expect(runs).toBe(2));
    answer.next(3);
    answer.complete();

    expect(await again).toEqual([3]);
  });
});
