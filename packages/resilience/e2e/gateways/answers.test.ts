import { Catch, UseFilters } from '@nestjs/common';
import {
  Budget,
  Bulkhead,
  CircuitBreaker,
  CircuitOpenError,
  Fallback,
  fanOut,
  optional,
  required,
  Resilience,
  ResilienceService,
  Signal,
  Timeout,
  type ResiliencePolicy,
} from '@nestjs/resilience';
import { BaseWsExceptionFilter, SubscribeMessage, WebSocketGateway, WsException } from '@nestjs/websockets';
import { concat, from, map, of } from 'rxjs';
import { beforeEach, expect, it, vi } from 'vitest';
import { freezeTime } from '../fixtures/application.js';
import { Backend, DependencyError, turns, until } from '../fixtures/backend.js';
import { BOTH, onSockets } from '../fixtures/gateway.js';

let backend: Backend;
let seenByFilter: unknown[];

beforeEach(() => {
  backend = new Backend();
  seenByFilter = [];
});

@Catch()
class NotingFilter extends BaseWsExceptionFilter {
  override handleError(...parameters: Parameters<BaseWsExceptionFilter['handleError']>): void {
    seenByFilter.push(parameters[1]);
    super.handleError(...parameters);
  }
}

const replied = (event: string) => map((data: unknown) => ({ event, data }));

@WebSocketGateway()
class QuotesGateway {
  private readonly partner: ResiliencePolicy;

  constructor(resilience: ResilienceService) {
    this.partner = resilience.create({ outboundRateLimit: { limit: 1, interval: '40s' } }, 'partner');
  }

  @SubscribeMessage('limited')
  @Timeout('1s')
  async limited(@Signal() signal: AbortSignal) {
    return { event: 'quoted', data: await backend.call(signal) };
  }

  @SubscribeMessage('budgeted')
  @Budget('1s')
  budgeted(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @SubscribeMessage('breaker')
  @CircuitBreaker({ name: 'carrier', minimumCalls: 1, openDuration: '29.5s' })
  @Timeout('1s')
  breaker(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @SubscribeMessage('bulkhead')
  @Bulkhead({ maxConcurrent: 1 })
  async bulkhead(@Signal() signal: AbortSignal) {
    return { event: 'quoted', data: await backend.call(signal) };
  }

  @SubscribeMessage('partner')
  @Resilience('partner')
  partnerLimited() {
    return { event: 'quoted', data: 'asked' };
  }

  @SubscribeMessage('fallback')
  @Timeout('1s')
  @Fallback(() => ({ event: 'quoted', data: { price: 4.99 } }))
  fallback(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @SubscribeMessage('streamed')
  @Timeout('1s')
  streamed(@Signal() signal: AbortSignal) {
    return concat(of('ground'), from(backend.call(signal))).pipe(replied('quoted'));
  }

  @SubscribeMessage('page')
  @Timeout('2s')
  async page() {
    const page = await fanOut({
      product: required(() => ({ id: '7' }), { name: 'catalog', timeout: '800ms' }),
      reviews: optional(({ signal }) => backend.call(signal), { timeout: '300ms', fallback: null }),
    });
    return { event: 'page', data: page };
  }

  @SubscribeMessage('incomplete')
  @Timeout('2s')
  incomplete() {
    return fanOut({
      product: required(() => Promise.reject(new DependencyError(404)), { name: 'catalog', timeout: '800ms' }),
    });
  }

  @SubscribeMessage('undecorated')
  async undecorated() {
    return { event: 'quoted', data: await this.partner.execute(() => 'asked') };
  }

  @SubscribeMessage('failing')
  @Timeout('1s')
  failing() {
    throw new DependencyError(500);
  }

  @SubscribeMessage('refused')
  @Timeout('1s')
  refused() {
    throw new WsException('no such order');
  }

  @SubscribeMessage('open')
  open() {
    throw new CircuitOpenError('carrier', 1_001);
  }

  @SubscribeMessage('filtered')
  @UseFilters(NotingFilter)
  @Timeout('1s')
  filtered() {
    throw new CircuitOpenError('carrier', 1_001);
  }
}

const PRESETS = { presets: { partner: { outboundRateLimit: { limit: 1, interval: '40s' } } } } as const;
const OPEN = {
  status: 'error',
  code: 'CIRCUIT_OPEN',
  statusCode: 503,
  message: 'Service temporarily unavailable',
  retryAfter: 2,
};

onSockets(BOTH, 'What the client of a gateway gets', (start) => {
  const startQuotes = async (options = {}) => {
    const gateway = await start({ providers: [QuotesGateway], options: { ...PRESETS, ...options } });
    const client = await gateway.connect();
    freezeTime();
    return { ...gateway, ...client };
  };

  it('is the handler’s reply', async () => {
    const { send, next } = await startQuotes();
    backend.script((call) => call.answer({ price: 6.9 }));
    send('limited');

    expect(await next()).toEqual({ event: 'quoted', data: { price: 6.9 } });
  });

  it('is, when the time is up and not a millisecond earlier, an exception of four keys', async () => {
    const { send, next, received, log } = await startQuotes();
    send('limited');
    const running = await backend.reached(1);

    await vi.advanceTimersByTimeAsync(999);
    await turns();
    expect(received).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);

    expect(await next()).toStrictEqual({
      event: 'exception',
      data: { status: 'error', code: 'TIMEOUT', statusCode: 504, message: 'The operation timed out' },
    });
    expect(running.state).toBe('cancelled');
    expect(log).toMatchObject({ errors: [], warnings: [] });
  });

  it('names a budget that has been spent', async () => {
    const { send, next } = await startQuotes();
    send('budgeted');
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(1_000);

    expect(await next()).toStrictEqual({
      event: 'exception',
      data: { status: 'error', code: 'DEADLINE_EXCEEDED', statusCode: 504, message: 'The operation timed out' },
    });
  });

  it('says of an open breaker for how many seconds more', async () => {
    backend.script((call) => call.fail(new DependencyError(503)));
    const { send, next, resilience } = await startQuotes();
    send('breaker');
    await next();
    expect(resilience.circuitBreaker('carrier').state).toBe('open');
    send('breaker');

    expect(await next()).toStrictEqual({ event: 'exception', data: { ...OPEN, retryAfter: 30 } });
    expect(backend.calls).toHaveLength(1);
  });

  it('says that a bulkhead is full, message by message of one client', async () => {
    const { send, next } = await startQuotes();
    send('bulkhead');
    const running = await backend.reached(1);
    send('bulkhead');

    expect(await next()).toStrictEqual({
      event: 'exception',
      data: { status: 'error', code: 'BULKHEAD_FULL', statusCode: 503, message: 'Server is at capacity' },
    });
    running.answer('done');
    expect(await next()).toEqual({ event: 'quoted', data: 'done' });
    send('bulkhead');
    (await backend.reached(2)).answer('again');
    expect(await next()).toEqual({ event: 'quoted', data: 'again' });
  });

  it.each(['partner', 'undecorated'])('says when a partner may be asked again (%s)', async (handler) => {
    const { send, next } = await startQuotes();
    send(handler);
    expect(await next()).toEqual({ event: 'quoted', data: 'asked' });
    send(handler);

    expect(await next()).toStrictEqual({
      event: 'exception',
      data: {
        status: 'error',
        code: 'RATE_LIMITED',
        statusCode: 503,
        message: 'Rate limit of a dependency exceeded',
        retryAfter: 40,
      },
    });
  });

  it('is the fallback’s reply in place of the handler’s', async () => {
    const { send, next } = await startQuotes();
    send('fallback');
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(1_000);

    expect(await next()).toEqual({ event: 'quoted', data: { price: 4.99 } });
  });

  it('is every value of an Observable as it comes, and no time limit after the first', async () => {
    const { send, next, received } = await startQuotes();
    send('streamed');
    expect(await next()).toEqual({ event: 'quoted', data: 'ground' });
    const running = await backend.reached(1);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(running.state).toBe('running');
    running.answer('air');

    expect(await next()).toEqual({ event: 'quoted', data: 'air' });
    expect(received).toHaveLength(2);
  });

  it('is a partial response as JSON', async () => {
    const { send, next } = await startQuotes();
    send('page');
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(300);

    expect(await next()).toStrictEqual({
      event: 'page',
      data: {
        data: { product: { id: '7' }, reviews: null },
        degraded: [{ section: 'reviews', reason: 'upstream_timeout', waitedMs: 300 }],
        partial: true,
      },
    });
  });

  it('names a required section that failed', async () => {
    const { send, next } = await startQuotes();
    send('incomplete');

    expect(await next()).toStrictEqual({
      event: 'exception',
      data: { status: 'error', code: 'SECTION_FAILED', statusCode: 404, message: 'catalog unavailable' },
    });
  });

  it('stays Nest’s own for every other error', async () => {
    const { send, next, log } = await startQuotes();
    send('failing');
    send('refused');

    expect([await next(), await next()]).toMatchObject([
      { event: 'exception', data: { status: 'error', message: 'Internal server error' } },
      { event: 'exception', data: { status: 'error', message: 'no such order' } },
    ]);
    expect(log.errors).toHaveLength(1);
  });

  it('is Nest’s own with mapErrors: false too', async () => {
    const { send, next, log } = await startQuotes({ mapErrors: false });
    send('open');

    expect(await next()).toMatchObject({
      event: 'exception',
      data: { status: 'error', message: 'Internal server error' },
    });
    await until(() => log.errors.length === 1);
  });

  it('goes through exception filters, which find the error as the cause', async () => {
    const { send, next } = await startQuotes();
    send('filtered');

    expect(await next()).toStrictEqual({ event: 'exception', data: OPEN });
    expect(seenByFilter).toEqual([expect.any(WsException)]);
    expect((seenByFilter[0] as Error).cause).toBeInstanceOf(CircuitOpenError);
  });
});
