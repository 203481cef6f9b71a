import type { Server } from 'node:http';
import { Controller, Post } from '@nestjs/common';
import { Idempotent, IdempotencyLockLostError } from '@nestjs/idempotency';
import {
  Bulkhead,
  CircuitBreaker,
  Fallback,
  ResilienceModule,
  ResilienceService,
  Retry,
  Signal,
  Timeout,
  type CircuitBreakerPolicy,
  type ResilienceModuleOptions,
} from '@nestjs/resilience';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { send } from '../fixtures/client.js';
import { newGate, type Gate } from '../fixtures/gate.js';
import {
  newKey,
  onBothAdapters,
  type Application,
  type ApplicationOptions,
  type Start,
} from '../fixtures/http-application.js';
import { sourceOf } from '../fixtures/stores.js';

let runs: number;
/** How many of the next runs fail. */
let failures: number;
let gates: Gate[];
let signals: AbortSignal[];

beforeEach(() => {
  runs = failures = 0;
  gates = [];
  signals = [];
});
afterEach(() => gates.forEach((gate) => gate.open()));

function run(): object {
  runs += 1;
  if (runs <= failures) throw new Error(`failure ${runs}`);

  return { id: runs };
}

/** Runs until its gate is opened, whatever happens to its signal. */
async function runSlowly(signal?: AbortSignal): Promise<object> {
  const gate = newGate();
  gates.push(gate);
  if (signal !== undefined) signals.push(signal);
  const answer = run();
  await gate.opened;

  return answer;
}

@Controller()
@Idempotent()
class ShipmentsController {
  @Post('retried')
  @Retry({ attempts: 3, idempotent: true, backoff: { delay: 1 } })
  retried(): object {
    return run();
  }

  @Post('guarded')
  @CircuitBreaker({ name: 'carrier', minimumCalls: 2 })
  @Timeout('10s')
  guarded(): object {
    return run();
  }

  @Post('guarded-slow')
  @CircuitBreaker({ name: 'slow-carrier', minimumCalls: 2 })
  @Timeout('10s')
  guardedSlow(): Promise<object> {
    return runSlowly();
  }

  @Post('guarded-long')
  @CircuitBreaker({ name: 'long-carrier', minimumCalls: 2 })
  @Timeout('10s')
  guardedLong(@Signal() signal: AbortSignal): Promise<object> {
    return runSlowly(signal);
  }

  @Post('capped')
  @Bulkhead({ maxConcurrent: 1, maxQueue: 0 })
  capped(): Promise<object> {
    return runSlowly();
  }

  @Post('replaced')
  @Retry({ attempts: 2, idempotent: true, backoff: { delay: 1 } })
  @Fallback(() => ({ fallback: true }))
  replaced(): object {
    return run();
  }

  @Post('limited')
  @Timeout('50ms')
  limited(@Signal() signal: AbortSignal): Promise<object> {
    return runSlowly(signal);
  }

  @Post('long')
  @Timeout('10s')
  long(@Signal() signal: AbortSignal): Promise<object> {
    return runSlowly(signal);
  }
}

interface Modules extends ApplicationOptions {
  readonly resilience?: ResilienceModuleOptions;
}

function startWith(start: Start, { resilience = {}, ...options }: Modules = {}): Promise<Application> {
  return start({
    controllers: [ShipmentsController],
    imports: [ResilienceModule.forRoot(resilience)],
    ...options,
  });
}

function breakerOf({ app }: Application, name: string): CircuitBreakerPolicy {
  return app.get(ResilienceService).circuitBreaker(name);
}

function reached(count: number): Promise<void> {
  return expect.poll(() => runs).toBe(count) as unknown as Promise<void>;
}

onBothAdapters('Behind a key', (start) => {
  it('all retries of one request run, and what came of them is kept', async () => {
    failures = 2;
    const asked: string[] = [];
    const source = sourceOf((usual) => ({
      acquire: (key, ...rest) => {
        asked.push(key);
        return usual.acquire(key, ...rest);
      },
    }));
    const { twice } = await startWith(start, { providers: [source] });
    const [first, again] = await twice('/retried');

    expect([first.status, first.body, again.replayed, again.text]).toEqual([201, { id: 3 }, true, first.text]);
    expect([runs, asked.length]).toEqual([3, 2]);
  });

  it('retries that all fail free it', async () => {
    failures = 3;
    const { twice } = await startWith(start);
    const [first, again] = await twice('/retried');

    expect([first.status, again.status, again.replayed]).toEqual([500, 201, false]);
  });

  it('the answer of a fallback is final', async () => {
    failures = 2;
    const { twice } = await startWith(start);
    const [first, again] = await twice('/replaced');

    expect([first.body, again.body, again.replayed, runs]).toEqual([{ fallback: true }, { fallback: true }, true, 2]);
  });
});

onBothAdapters('A breaker', (start) => {
  it('lets replays and conflicts through while it is open, and does not hear of them', async () => {
    const application = await startWith(start);
    const { call } = application;
    const breaker = breakerOf(application, 'slow-carrier');
    const [done, running] = [newKey(), newKey()];
    const first = call('/guarded-slow', done);
    await reached(1);
    gates[0]?.open();
    await first;
    const second = call('/guarded-slow', running);
    await reached(2);
    breaker.trip();
    const { stats } = breaker;

    expect((await call('/guarded-slow', done)).replayed).toBe(true);
    expect((await call('/guarded-slow', running)).status).toBe(409);
    expect((await call('/guarded-slow', done, { body: { other: 1 } })).status).toBe(422);
    expect(breaker.stats).toEqual(stats);
    gates[1]?.open();
    await second;
  });

  it('that is open frees the key of the call that it refuses', async () => {
    const application = await startWith(start);
    const { call, events } = application;
    const breaker = breakerOf(application, 'carrier');
    breaker.trip();
    const key = newKey();
    const refused = await call('/guarded', key);
    breaker.reset();
    const again = await call('/guarded', key);

    expect([refused.status, refused.headers['retry-after']]).toEqual([503, expect.stringMatching(/^\d+$/)]);
    expect(refused.body).toMatchObject({ code: 'CIRCUIT_OPEN' });
    expect(events.filter(({ type }) => type === 'released')).toHaveLength(1);
    expect([again.status, again.replayed, again.body]).toEqual([201, false, { id: 1 }]);
  });

  it('stays closed through a storm of duplicates, of which one runs', async () => {
    const application = await startWith(start);
    const { call } = application;
    const key = newKey();
    const statuses: number[] = [];
    const storm = Array.from({ length: 20 }, () =>
      call('/guarded-slow', key).then(({ status }) => statuses.push(status)),
    );
    await expect.poll(() => statuses.length).toBe(19);
    gates[0]?.open();
    await Promise.all(storm);
    const { state, stats } = breakerOf(application, 'slow-carrier');

    expect([statuses.filter((status) => status === 409).length, statuses.at(-1), runs]).toEqual([19, 201, 1]);
    expect([state, stats.failures, stats.total]).toEqual(['closed', 0, 1]);
  });

  it('is untouched by a call that outlives its lock, and neither is the lock of the one that follows', async () => {
    const application = await startWith(start, {
      // Nobody renews the first lock: as if its process stood still.
      providers: [
        sourceOf((usual) => {
          let first: string | undefined;
          return {
            acquire: (key, owner, ...rest) => usual.acquire(key, (first ??= owner) && owner, ...rest),
            extend: (key, owner, ttl) => (owner === first ? new Promise(() => {}) : usual.extend(key, owner, ttl)),
          };
        }),
      ],
      options: { lockTtl: '300ms', storeTimeout: '1m' },
    });
    const { call, log } = application;
    const key = newKey();
    const a = call('/guarded-slow', key);
    await reached(1);
    expect((await call('/guarded-slow', key)).status).toBe(409);
    await new Promise((resolve) => setTimeout(resolve, 350));
    const b = call('/guarded-slow', key);
    await reached(2);
    gates[0]?.open();
    const late = await a;
    const third = await call('/guarded-slow', key);
    gates[1]?.open();
    const owner = await b;
    const { state, stats } = breakerOf(application, 'slow-carrier');

    expect([late.status, late.body]).toEqual([201, { id: 1 }]);
    expect([third.status, runs]).toEqual([409, 2]);
    expect([owner.status, owner.body]).toEqual([201, { id: 2 }]);
    expect([state, stats.failures]).toEqual(['closed', 0]);
    expect(log.warnings.filter((line) => line.includes('the lock was lost'))).toHaveLength(1);
    expect((await call('/guarded-slow', key)).body).toEqual({ id: 2 });
  });
});

onBothAdapters('A bulkhead', (start) => {
  it('that is full lets replays and conflicts through, and frees the key of the call that it refuses', async () => {
    const { call } = await startWith(start);
    const [done, running, refused] = [newKey(), newKey(), newKey()];
    const first = call('/capped', done);
    await reached(1);
    gates[0]?.open();
    await first;
    const second = call('/capped', running);
    await reached(2);

    expect((await call('/capped', done)).replayed).toBe(true);
    expect((await call('/capped', running)).body).toMatchObject({ code: 'IDEMPOTENCY_KEY_IN_USE' });
    expect(await call('/capped', refused)).toMatchObject({ status: 503, body: { code: 'BULKHEAD_FULL' } });
    gates[1]?.open();
    await second;
    const third = call('/capped', refused);
    await reached(3);
    gates[2]?.open();
    expect((await third).status).toBe(201);
  });
});

onBothAdapters('A timeout', (start) => {
  it('frees the key with its 504, so that a repeated call can overlap the run that was given up', async () => {
    const { call, events } = await startWith(start);
    const key = newKey();
    const first = await call('/limited', key);
    expect([first.status, first.body]).toEqual([504, expect.objectContaining({ code: 'TIMEOUT' })]);
    expect(events.map(({ type }) => type)).toEqual(['executed', 'released']);
    expect(signals[0]?.aborted).toBe(true);

    const second = call('/limited', key);
    await reached(2);
    // The first run is still there.
    gates[1]?.open();
    expect((await second).body).toEqual({ id: 2 });
    gates[0]?.open();
    expect(await call('/limited', key)).toMatchObject({ replayed: true, body: { id: 2 } });
  });

  it('that a caller sets for itself does so too, and does not stand in front of a replay', async () => {
    const { call } = await startWith(start, { resilience: { deadlineHeaders: ['x-request-timeout-ms'] } });
    const key = newKey();
    const deadline = (ms: string) => ({ headers: { 'x-request-timeout-ms': ms } });
    const first = await call('/long', key, deadline('40'));
    expect([first.status, first.replayed]).toEqual([504, false]);

    const second = call('/long', key);
    await reached(2);
    gates[1]?.open();
    expect((await second).status).toBe(201);
    expect(await call('/long', key, deadline('1'))).toMatchObject({ replayed: true, body: { id: 2 } });
  });
});

onBothAdapters('The client of a call with a key', (start) => {
  async function leave({ app, url }: Application, key: string): Promise<void> {
    const outgoing = send(`${url}/long`, { headers: { 'idempotency-key': key } });
    await reached(1);
    const server = app.getHttpServer() as Server;
    outgoing.destroy();
    await expect.poll(() => new Promise((resolve) => server.getConnections((_error, count) => resolve(count)))).toBe(0);
  }

  it('that leaves finds what its call has done, when it comes back', async () => {
    const application = await startWith(start);
    const key = newKey();
    await leave(application, key);
    expect((await application.call('/long', key)).status).toBe(409);
    expect(signals[0]?.aborted).toBe(false);
    gates[0]?.open();
    await expect.poll(() => application.events.at(-1)?.type).toBe('stored');

    expect(await application.call('/long', key)).toMatchObject({ replayed: true, body: { id: 1 } });
    expect(runs).toBe(1);
  });

  it("that leaves ends its call where abortOnDisconnect is 'always', and the key is free", async () => {
    const application = await startWith(start, {
      resilience: { abortOnDisconnect: 'always' },
      options: { storeIf: () => true },
    });
    const { call, events, log } = application;
    const key = newKey();
    await leave(application, key);
    await expect.poll(() => events.at(-1)?.type).toBe('released');
    expect(signals[0]?.reason).toMatchObject({ code: 'CLIENT_CLOSED_REQUEST' });

    const second = call('/long', key);
    await reached(2);
    gates[1]?.open();
    expect(await second).toMatchObject({ status: 201, replayed: false });
    expect(log.errors).toEqual([]);
  });
});

onBothAdapters('A lock that is lost', (start) => {
  it('ends the attempt; its caller is told to ask again, and no breaker hears of it', async () => {
    const application = await startWith(start, {
      providers: [sourceOf(() => ({ extend: () => Promise.resolve(false) }))],
      options: { lockTtl: '90ms', storeIf: () => true, retryAfter: '2s' },
    });
    const { call, log, events } = application;
    const key = newKey();
    const { status, body, headers } = await call('/guarded-long', key);
    const { state, stats } = breakerOf(application, 'long-carrier');

    expect(signals[0]?.reason).toBeInstanceOf(IdempotencyLockLostError);
    expect([status, headers['retry-after'], body]).toEqual([
      409,
      '2',
      expect.objectContaining({ code: 'IDEMPOTENCY_KEY_IN_USE' }),
    ]);
    expect([state, stats.total]).toEqual(['closed', 0]);
    expect(events.filter(({ type }) => type === 'lock-lost' || type === 'stored')).toEqual([
      expect.objectContaining({ type: 'lock-lost', phase: 'extend' }),
    ]);
    expect([log.errors, log.warnings]).toEqual([[], [expect.stringContaining('the lock was lost')]]);
  });
});

onBothAdapters('Resilience that is imported first', (start) => {
  it('is named at boot, with what comes of it', async () => {
    const { log } = await start({
      controllers: [ShipmentsController],
      before: [ResilienceModule.forRoot({})],
    });

    expect(log.warnings).toEqual([
      'These global interceptors stand in front of the idempotency interceptor: ResilienceInterceptor. They run again for ' +
        'each replay, and what they do to answers is not kept. Register it with app.useGlobalInterceptors(), or import its ' +
        'module after IdempotencyModule, so that what is kept is what it made. Import IdempotencyModule before ' +
        'ResilienceModule: else breakers, bulkheads and timeouts also stand in front of replays, and each retry asks for ' +
        'the key again.',
    ]);
  });

  it('is not named when it is imported second', async () => {
    const { log } = await startWith(start);

    expect(log.warnings).toEqual([]);
  });
});
