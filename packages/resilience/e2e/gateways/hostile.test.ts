import {
  BadRequestException,
  Catch,
  Injectable,
  UseFilters,
  UseGuards,
  UsePipes,
  type CanActivate,
  type ExceptionFilter,
  type PipeTransform,
} from '@nestjs/common';
import {
  Bulkhead,
  CircuitBreaker,
  CircuitOpenError,
  Fallback,
  ResilienceTimeoutError,
  Retry,
  Timeout,
} from '@nestjs/resilience';
import { MessageBody, SubscribeMessage, WebSocketGateway, WsException } from '@nestjs/websockets';
import { NEVER, of } from 'rxjs';
import { expect, it } from 'vitest';
import { turns, until } from '../fixtures/backend.js';
import { BOTH, onSockets, type Received } from '../fixtures/gateway.js';

/**
 * Whatever a handler throws or returns, its connection and the messages after it go on, and what it held is given back.
 * That the process lives on, without an unhandled rejection, is what the suite itself watches.
 */

const refuse = (): never => {
  throw new Error('not to be read');
};
const closed = (): object =>
  new Proxy(new Error('closed'), { get: refuse, has: refuse, getPrototypeOf: refuse, ownKeys: refuse });
const circular: { self?: unknown } = {};
circular.self = circular;
const opened = (): CircuitOpenError => new CircuitOpenError('carrier', 1_001);

const THROWN: Readonly<Record<string, () => unknown>> = {
  undefined: () => undefined,
  null: () => null,
  'a number': () => 5,
  'a symbol': () => Symbol('down'),
  'a function': () => refuse,
  'a proxy that throws': closed,
  'an exception of undefined': () => new WsException(undefined as never),
  'an exception of null': () => new WsException(null as never),
  'an exception of a symbol': () => new WsException(Symbol('down') as never),
  'an exception of a bigint': () => new WsException({ amount: 1n }),
  'an exception of a circle': () => new WsException(circular),
  'an exception of a proxy that throws': () => new WsException(closed()),
  'an exception of a megabyte': () => new WsException('x'.repeat(1_000_000)),
  'an exception whose status throws': () =>
    new WsException(Object.defineProperty({}, 'status', { get: refuse, enumerable: true })),
  'an exception that does not tell': () => Object.assign(new WsException('down'), { getError: refuse }),
  'an error of ours that cannot be read': () => Object.defineProperty(opened(), 'code', { get: refuse }),
  'an error of ours whose time cannot be read': () => Object.defineProperty(opened(), 'retryAfterMs', { get: refuse }),
  'an error of ours that is frozen': () => Object.freeze(opened()),
};

/** What Nest itself sends or leaves out; what it cannot write as JSON ends a process, with a policy or without. */
const RETURNED: Readonly<Record<string, () => unknown>> = {
  undefined: () => undefined,
  null: () => null,
  'a number': () => 5,
  'an empty string': () => '',
  'a promise of an Observable of undefined': () => Promise.resolve(of(undefined)),
  'a thenable that throws': () => Object.defineProperty({}, 'then', { get: refuse }),
};

@WebSocketGateway()
class HostileGateway {
  @SubscribeMessage('plain')
  plain(@MessageBody() kind: string) {
    throw THROWN[kind]?.();
  }

  @SubscribeMessage('limited')
  @Retry({ attempts: 2, backoff: { delay: 0 } })
  @CircuitBreaker({ name: 'hostile', minimumCalls: 1_000, slidingWindow: { type: 'count', size: 1_000 } })
  @Timeout('5s')
  @Bulkhead({ name: 'hostile', maxConcurrent: 100 })
  @Fallback(
    (error) => {
      throw error;
    },
    { handleIf: () => true },
  )
  async limited(@MessageBody() kind: string) {
    await turns(1);
    throw THROWN[kind]?.();
  }

  @SubscribeMessage('returning')
  @Timeout('5s')
  @Bulkhead({ name: 'hostile', maxConcurrent: 100 })
  returning(@MessageBody() kind: string) {
    return RETURNED[kind]?.();
  }

  @SubscribeMessage('ping')
  @Timeout('5s')
  ping(@MessageBody() data: unknown) {
    return { event: 'pong', data };
  }

  @SubscribeMessage('never')
  @Timeout('20ms')
  @Bulkhead({ name: 'never', maxConcurrent: 1 })
  never() {
    return NEVER;
  }

  @SubscribeMessage('nested')
  @Timeout('1s')
  async nested() {
    await turns(1);
    return Promise.resolve(of({ event: 'pong', data: 1 }, { event: 'pong', data: 2 }));
  }
}

onSockets(BOTH, 'A gateway', (start) => {
  const connect = async () => {
    const gateway = await start({ providers: [HostileGateway] });
    const client = await gateway.connect();
    const answersStill = async (): Promise<void> => {
      const before = client.received.length;
      client.send('ping', 'still there?');
      await until(() => client.received.slice(before).some(({ event }) => event === 'pong'));
    };
    return { ...gateway, ...client, answersStill };
  };

  const codesIn = (received: readonly Received[]) =>
    received.map(({ data }) => (data as { code?: string }).code).filter((code) => code !== undefined);
  const hasLongest = (received: readonly Received[]) =>
    received.some(({ data }) => (data as { message?: string }).message?.length === 1_000_000);

  it('survives whatever a handler throws', async () => {
    const { send, answersStill, received } = await connect();
    for (const kind of Object.keys(THROWN)) {
      send('plain', kind);
      await answersStill();
    }

    expect(codesIn(received)).toEqual(['CIRCUIT_OPEN']);
    expect(hasLongest(received)).toBe(true);
  });

  it('repeats, counts and replaces it, whatever it is, and holds nothing', async () => {
    const { send, answersStill, resilience, received } = await connect();
    const kinds = Object.keys(THROWN);
    for (const kind of kinds) send('limited', kind);
    const repeated = kinds.filter((kind) => !kind.startsWith('an error of ours')).length;
    await until(() => resilience.circuitBreaker('hostile').stats.failures === 2 * repeated);
    await answersStill();
    await until(() => codesIn(received).length > 0 && hasLongest(received));

    expect(resilience.circuitBreaker('hostile').stats.total).toBe(2 * repeated);
    expect(resilience.bulkhead('hostile')).toMatchObject({ active: 0, queued: 0, abandoned: 0 });
    expect(codesIn(received)).toEqual(['CIRCUIT_OPEN']);
  });

  it('survives whatever a handler returns', async () => {
    const { send, answersStill, resilience } = await connect();
    for (const kind of Object.keys(RETURNED)) {
      send('returning', kind);
      await answersStill();
      await until(() => resilience.bulkhead('hostile').active === 0);
    }
  });

  it.each([null, 0, '', [], [1, [2]], { event: 'pong' }, { __proto__: null, then: 'no' }, 'x'.repeat(900_000)])(
    'survives whatever a client sends (%#)',
    async (data) => {
      const { send, next } = await connect();
      send('ping', data);

      expect(await next()).toEqual({ event: 'pong', data });
    },
  );

  it('limits a handler that never answers', async () => {
    const { send, next, resilience } = await connect();
    send('never');

    expect(await next()).toMatchObject({ event: 'exception', data: { code: 'TIMEOUT' } });
    expect(resilience.bulkhead('never').active).toBe(0);
  });

  it('sends the values of an Observable that a promise brings', async () => {
    const { send, next } = await connect();
    send('nested');

    expect([await next(), await next()]).toEqual([
      { event: 'pong', data: 1 },
      { event: 'pong', data: 2 },
    ]);
  });
});

let piped = 0;

@Injectable()
class FailingOnce implements PipeTransform {
  transform(value: unknown) {
    if (++piped === 1) throw new ResilienceTimeoutError(5, 'pipe');
    return value;
  }
}

@Injectable()
class Refusing implements PipeTransform {
  transform(): never {
    throw new BadRequestException('not a quote');
  }
}

class ThrowingGuard implements CanActivate {
  canActivate(): never {
    throw opened();
  }
}

class DenyingGuard implements CanActivate {
  canActivate(): boolean {
    return false;
  }
}

@Catch()
class ThrowingFilter implements ExceptionFilter {
  catch(error: unknown): never {
    throw error;
  }
}

const BREAKER = { name: 'around', minimumCalls: 1 } as const;

@WebSocketGateway()
class AroundGateway {
  @SubscribeMessage('pipe')
  @UsePipes(FailingOnce)
  @Timeout('5s')
  pipe(@MessageBody() data: unknown) {
    return { event: 'pong', data };
  }

  @SubscribeMessage('repeated-pipe')
  @UsePipes(FailingOnce)
  @Retry({ attempts: 2, backoff: { delay: 0 } })
  repeatedPipe(@MessageBody() data: unknown) {
    return { event: 'pong', data };
  }

  @SubscribeMessage('refusing-pipe')
  @UsePipes(Refusing)
  @CircuitBreaker(BREAKER)
  @Timeout('5s')
  refusingPipe(@MessageBody() data: unknown) {
    return { event: 'pong', data };
  }

  @SubscribeMessage('throwing-guard')
  @UseGuards(ThrowingGuard)
  @CircuitBreaker(BREAKER)
  @Timeout('5s')
  throwingGuard() {
    return { event: 'pong' };
  }

  @SubscribeMessage('denying-guard')
  @UseGuards(DenyingGuard)
  @CircuitBreaker(BREAKER)
  @Timeout('5s')
  denyingGuard() {
    return { event: 'pong' };
  }

  @SubscribeMessage('throwing-filter')
  @UseFilters(ThrowingFilter)
  @Timeout('5s')
  @Bulkhead({ name: 'filtered', maxConcurrent: 1 })
  throwingFilter() {
    throw opened();
  }

  @SubscribeMessage('ping')
  ping() {
    return { event: 'pong', data: 'still there' };
  }
}

const INTERNAL = { event: 'exception', data: { message: 'Internal server error' } };

onSockets(BOTH, 'What stands around the handler of a message', (start) => {
  const connect = async () => {
    piped = 0;
    const gateway = await start({ providers: [AroundGateway] });
    return { ...gateway, ...(await gateway.connect()) };
  };

  it('belongs to it if it is a pipe: its errors are the policy’s, and run again', async () => {
    const { send, next } = await connect();
    send('pipe', 1);
    expect(await next()).toMatchObject({ event: 'exception', data: { code: 'TIMEOUT' } });
    piped = 0;
    send('repeated-pipe', 2);

    expect(await next()).toEqual({ event: 'pong', data: 2 });
    expect(piped).toBe(2);
  });

  it('is nothing that a breaker counts when it refuses the message', async () => {
    const { send, next, resilience } = await connect();
    send('refusing-pipe');
    expect(await next()).toMatchObject(INTERNAL);
    send('denying-guard');
    expect(await next()).toMatchObject({ event: 'exception', data: { message: 'Forbidden resource' } });
    send('throwing-guard');
    // Guards run outside of every interceptor: what they throw is Nest's.
    expect(await next()).toMatchObject(INTERNAL);

    expect(resilience.circuitBreaker('around').stats.total).toBe(0);
  });

  it('holds nothing when it is a filter that throws, and the connection goes on', async () => {
    const { send, next, resilience, log } = await connect();
    send('throwing-filter');
    send('throwing-filter');
    send('ping');

    expect(await next()).toEqual({ event: 'pong', data: 'still there' });
    await until(() => log.errors.length === 2);
    expect(resilience.bulkhead('filtered').active).toBe(0);
  });
});
