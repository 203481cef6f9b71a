import { Resilience, Retry, Signal, Timeout } from '@nestjs/resilience';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { concat, defer, map, of, throwError } from 'rxjs';
import { beforeEach, expect, it } from 'vitest';
import { Backend, DependencyError } from '../fixtures/backend.js';
import { BOTH, onSockets } from '../fixtures/gateway.js';

let backend: Backend;
let subscriptions: number;
const down = new DependencyError(503);

beforeEach(() => {
  backend = new Backend();
  backend.script((call, nth) => (nth === 1 ? call.fail(down) : call.answer('asked again')));
  subscriptions = 0;
});

const AT_ONCE = { backoff: { delay: 0 } };
const reply = (answer: Promise<unknown>) => answer.then((data) => ({ event: 'quoted', data }));
const replied = map((data: unknown) => ({ event: 'quoted', data }));

@WebSocketGateway()
@Resilience('carrier')
class QuotesGateway {
  @SubscribeMessage('own')
  @Retry({ attempts: 2, ...AT_ONCE })
  @Timeout('1s')
  own(@Signal() signal: AbortSignal) {
    return reply(backend.call(signal));
  }

  @SubscribeMessage('preset')
  @Timeout('1s')
  preset(@Signal() signal: AbortSignal) {
    return reply(backend.call(signal));
  }

  @SubscribeMessage('before-the-first')
  @Retry({ attempts: 2, ...AT_ONCE })
  @Timeout('1s')
  beforeTheFirst() {
    return defer(() => (++subscriptions === 1 ? throwError(() => down) : of('ground', 'air'))).pipe(replied);
  }

  @SubscribeMessage('after-the-first')
  @Retry({ attempts: 2, ...AT_ONCE })
  @Timeout('1s')
  afterTheFirst() {
    return defer(() => {
      subscriptions++;
      return concat(
        of('ground'),
        throwError(() => down),
      );
    }).pipe(replied);
  }
}

@WebSocketGateway()
@Retry({ attempts: 2, ...AT_ONCE })
class RepeatedGateway {
  @SubscribeMessage('class')
  @Timeout('1s')
  quotes(@Signal() signal: AbortSignal) {
    return reply(backend.call(signal));
  }
}

@WebSocketGateway()
@Retry({ attempts: 2, idempotent: true, ...AT_ONCE })
class IdempotentGateway {
  @SubscribeMessage('idempotent')
  @Timeout('1s')
  quotes(@Signal() signal: AbortSignal) {
    return reply(backend.call(signal));
  }
}

const PRESETS = { presets: { carrier: { retry: { attempts: 3, ...AT_ONCE } } } } as const;
const FAILED = { event: 'exception', data: { status: 'error', message: 'Internal server error' } };

onSockets(BOTH, 'A message whose handler fails', (start) => {
  const startQuotes = async () => {
    const providers = [QuotesGateway, RepeatedGateway, IdempotentGateway];
    const gateway = await start({ providers, options: PRESETS });
    return { ...gateway, ...(await gateway.connect()) };
  };

  it.each([
    ['the handler’s own @Retry()', 'own'],
    ['a class that declares its handlers idempotent', 'idempotent'],
  ])('is handled again with %s', async (_why, event) => {
    const { send, next, received, log } = await startQuotes();
    send(event);

    expect(await next()).toEqual({ event: 'quoted', data: 'asked again' });
    expect(backend.calls).toHaveLength(2);
    expect(received).toHaveLength(1);
    expect(log.errors).toEqual([]);
  });

  it.each([
    ['a preset’s retry', 'preset'],
    ['the @Retry() of its class', 'class'],
  ])('is not handled again with %s', async (_why, event) => {
    const { send, next } = await startQuotes();
    send(event);

    expect(await next()).toMatchObject(FAILED);
    expect(backend.calls).toHaveLength(1);
  });

  it('is handled again as long as no value of an Observable has left', async () => {
    const { send, next } = await startQuotes();
    send('before-the-first');

    expect([await next(), await next()]).toEqual([
      { event: 'quoted', data: 'ground' },
      { event: 'quoted', data: 'air' },
    ]);
    expect(subscriptions).toBe(2);
  });

  it('is not handled again once one has', async () => {
    const { send, next } = await startQuotes();
    send('after-the-first');

    expect(await next()).toEqual({ event: 'quoted', data: 'ground' });
    expect(await next()).toMatchObject(FAILED);
    expect(subscriptions).toBe(1);
  });
});
