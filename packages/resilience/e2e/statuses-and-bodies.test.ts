import {
  Catch,
  Controller,
  Get,
  Header,
  HttpException,
  Injectable,
  NotFoundException,
  Post,
  type ArgumentsHost,
  type ExceptionFilter,
} from '@nestjs/common';
import { APP_FILTER, HttpAdapterHost } from '@nestjs/core';
import {
  Bulkhead,
  BulkheadFullError,
  CircuitBreaker,
  CircuitOpenError,
  OutboundRateLimitError,
  Resilience,
  ResilienceError,
  ResilienceTimeoutError,
  Retry,
  Signal,
  Timeout,
} from '@nestjs/resilience';
import { beforeEach, expect, it, vi } from 'vitest';
import { freezeTime, onBothAdapters } from './fixtures/application.js';
import { Backend, isPending, until } from './fixtures/backend.js';

let backend: Backend;

beforeEach(() => {
  backend = new Backend();
});

const TIMEOUT = { statusCode: 504, error: 'Gateway Timeout', message: 'The operation timed out', code: 'TIMEOUT' };
const unavailable = (code: string, message: string) => ({
  statusCode: 503,
  error: 'Service Unavailable',
  message,
  code,
});
const CIRCUIT_OPEN = unavailable('CIRCUIT_OPEN', 'Service temporarily unavailable');
const BULKHEAD_FULL = unavailable('BULKHEAD_FULL', 'Server is at capacity');
const RATE_LIMITED = unavailable('RATE_LIMITED', 'Rate limit of a dependency exceeded');

@Controller()
class StagesController {
  @Get('timeout')
  @Timeout(100)
  timeout(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @Get('breaker')
  @CircuitBreaker({ name: 'secret-dependency', openDuration: '30s' })
  @Timeout('1m')
  breaker() {
    return backend.call();
  }

  @Get('bulkhead')
  @Bulkhead({ name: 'secret-pool', maxConcurrent: 1, maxQueue: 1, queueTimeout: 100 })
  bulkhead() {
    return backend.call();
  }

  @Get('limited')
  @Resilience('partner')
  limited() {
    return 'fine';
  }

  @Get('csv')
  @Header('Content-Type', 'text/csv')
  @CircuitBreaker('secret-dependency')
  @Timeout('1m')
  csv() {
    return 'id;total';
  }
}

const options = { presets: { partner: { outboundRateLimit: { limit: 1, interval: '1m' } } } } as const;

onBothAdapters('What a client is told', (start) => {
  const startStages = () => start({ controllers: [StagesController], options });

  it('is 504 with the four keys and no Retry-After when the time is up, and not before', async () => {
    const { call } = await startStages();
    freezeTime();
    const answer = call('/timeout');
    await backend.reached(1);

    await vi.advanceTimersByTimeAsync(99);
    expect(await isPending(answer)).toBe(true);
    await vi.advanceTimersByTimeAsync(1);

    const { status, body, headers } = await answer;
    expect(status).toBe(504);
    expect(body).toEqual(TIMEOUT);
    expect(headers).not.toHaveProperty('retry-after');
    expect(headers['content-type']).toMatch(/^application\/json/);
  });

  it('is 503 with the seconds until a probe when a breaker is open', async () => {
    const { call, resilience } = await startStages();
    freezeTime();
    resilience.circuitBreaker('secret-dependency').trip();

    const first = await call('/breaker');
    expect(first.status).toBe(503);
    expect(first.body).toEqual(CIRCUIT_OPEN);
    expect(first.headers['retry-after']).toBe('30');

    await vi.advanceTimersByTimeAsync(500);
    expect((await call('/breaker')).headers['retry-after']).toBe('30');
    await vi.advanceTimersByTimeAsync(29_499);
    expect((await call('/breaker')).headers['retry-after']).toBe('1');
    expect(backend.calls).toEqual([]);
  });

  it('is 503 with Retry-After 1 when all probes of a half-open breaker are under way', async () => {
    const { call, resilience } = await startStages();
    freezeTime();
    resilience.circuitBreaker('secret-dependency').trip();
    await vi.advanceTimersByTimeAsync(30_000);
    const probe = call('/breaker');
    const running = await backend.reached(1);

    const surplus = await call('/breaker');

    expect(surplus.body).toEqual(CIRCUIT_OPEN);
    expect(surplus.headers['retry-after']).toBe('1');
    running.answer('fine');
    expect((await probe).text).toBe('fine');
  });

  it('is 503 without Retry-After when a bulkhead is full, and when the wait in its queue was too long', async () => {
    const { call, resilience } = await startStages();
    freezeTime();
    const running = call('/bulkhead');
    const inside = await backend.reached(1);
    const waiting = call('/bulkhead');
    await until(() => resilience.bulkhead('secret-pool').queued === 1);

    const surplus = await call('/bulkhead');
    expect(surplus.status).toBe(503);
    expect(surplus.body).toEqual(BULKHEAD_FULL);
    expect(surplus.headers).not.toHaveProperty('retry-after');

    await vi.advanceTimersByTimeAsync(100);
    const late = await waiting;
    expect(late.status).toBe(503);
    expect(late.body).toEqual(BULKHEAD_FULL);
    expect(late.headers).not.toHaveProperty('retry-after');

    inside.answer('fine');
    expect((await running).status).toBe(200);
  });

  it('is 503 with the seconds until the next token when an outbound rate limit is spent', async () => {
    const { call } = await startStages();
    freezeTime();
    await call('/limited');

    const { status, body, headers } = await call('/limited');

    expect(status).toBe(503);
    expect(body).toEqual(RATE_LIMITED);
    expect(headers['retry-after']).toBe('60');
  });

  it('is JSON although the route declares another type', async () => {
    const { call, resilience, log } = await startStages();
    resilience.circuitBreaker('secret-dependency').trip();

    const { body, headers } = await call('/csv');

    expect(body).toEqual(CIRCUIT_OPEN);
    expect(headers['content-type']).toMatch(/^application\/json/);
    expect(log.warnings).toEqual([]);
  });

  it('never names a policy, a dependency or a handler', async () => {
    const { call, resilience } = await startStages();
    resilience.circuitBreaker('secret-dependency').trip();

    const { text, headers } = await call('/breaker');

    expect(text + JSON.stringify(headers)).not.toMatch(/secret|StagesController|breaker/i);
  });

  it('has no body for HEAD', async () => {
    const { call, resilience } = await startStages();
    resilience.circuitBreaker('secret-dependency').trip();

    const { status, text, headers } = await call('/breaker', { method: 'HEAD' });

    expect(status).toBe(503);
    expect(text).toBe('');
    expect(headers['retry-after']).toBe('30');
  });

  it('leaves no trace in the log', async () => {
    const { call, resilience, log } = await startStages();
    const before = [...log.warnings];
    resilience.circuitBreaker('secret-dependency').trip();

    await call('/breaker');

    expect(log.errors).toEqual([]);
    expect(log.warnings).toEqual(before);
    expect(log.infos).toEqual([]);
  });
});

let thrown: unknown;

@Injectable()
class PlainService {
  fail(): never {
    throw thrown;
  }
}

@Controller('plain')
class PlainController {
  constructor(private readonly service: PlainService) {}

  @Get()
  get() {
    return this.service.fail();
  }

  @Post()
  async post() {
    await Promise.resolve();
    this.service.fail();
  }
}

onBothAdapters('Errors of policies in handlers without decorators', (start) => {
  const startPlain = () => start({ controllers: [PlainController], providers: [PlainService] });

  it.each([
    ['a timeout', new ResilienceTimeoutError(1_500, 'p'), 504, TIMEOUT, undefined],
    ['an open breaker', new CircuitOpenError('p', 30_000), 503, CIRCUIT_OPEN, '30'],
    ['a full bulkhead', new BulkheadFullError('p', 'full'), 503, BULKHEAD_FULL, undefined],
    ['a long queue', new BulkheadFullError('p', 'queue-timeout'), 503, BULKHEAD_FULL, undefined],
    ['a spent rate limit', new OutboundRateLimitError('p', 750), 503, RATE_LIMITED, '1'],
  ])('are answered like those of stages: %s', async (_, error, status, body, retryAfter) => {
    thrown = error;
    const { call } = await startPlain();

    for (const method of ['GET', 'POST']) {
      const answer = await call('/plain', { method });
      expect(answer.status).toBe(status);
      expect(answer.body).toEqual(body);
      expect(answer.headers['retry-after']).toBe(retryAfter);
    }
  });

  it.each([
    [0, '1'],
    [1, '1'],
    [1_000, '1'],
    [1_001, '2'],
    [29_500, '30'],
    [30_000, '30'],
    [30_000.5, '31'],
  ])('%s ms are sent as Retry-After: %s', async (retryAfterMs, header) => {
    thrown = new CircuitOpenError('p', retryAfterMs);
    const { call } = await startPlain();

    expect((await call('/plain')).headers['retry-after']).toBe(header);
  });

  it('leave other errors as they are', async () => {
    const { call, log } = await startPlain();

    thrown = new NotFoundException('no such order');
    expect((await call('/plain')).body).toEqual({ message: 'no such order', error: 'Not Found', statusCode: 404 });
    thrown = new Error('password=1234');
    expect((await call('/plain')).body).toEqual({ statusCode: 500, message: 'Internal server error' });
    expect(log.errors).toHaveLength(1);
  });
});

/** Writes down what reaches the exception filters. */
@Catch()
class RecordingFilter implements ExceptionFilter {
  static seen: unknown[] = [];

  constructor(private readonly host: HttpAdapterHost) {}

  catch(exception: unknown, host: ArgumentsHost): void {
    RecordingFilter.seen.push(exception);
    this.host.httpAdapter.reply(host.switchToHttp().getResponse(), 'filtered', 418);
  }
}

onBothAdapters('Exception filters', (start) => {
  const filter = { provide: APP_FILTER, useClass: RecordingFilter };

  beforeEach(() => {
    RecordingFilter.seen = [];
    thrown = new CircuitOpenError('carrier', 5_000);
  });

  it('get an HttpException whose cause is the error of the policy, with the header already set', async () => {
    const { call } = await start({ controllers: [PlainController], providers: [PlainService, filter] });

    const answer = await call('/plain');

    expect(answer).toMatchObject({ status: 418, text: 'filtered' });
    expect(answer.headers['retry-after']).toBe('5');
    const [exception] = RecordingFilter.seen as [HttpException];
    expect(exception).toBeInstanceOf(HttpException);
    expect(Object.getPrototypeOf(exception)).toBe(HttpException.prototype);
    expect(exception.getStatus()).toBe(503);
    expect(exception.getResponse()).toEqual(CIRCUIT_OPEN);
    expect(exception.cause).toBe(thrown);
  });

  it('get the error of the policy itself with mapErrors: false', async () => {
    const { call } = await start({
      controllers: [PlainController],
      providers: [PlainService, filter],
      options: { mapErrors: false },
    });

    const answer = await call('/plain');

    expect(answer.headers).not.toHaveProperty('retry-after');
    expect(RecordingFilter.seen).toEqual([thrown]);
    expect(RecordingFilter.seen[0]).toBeInstanceOf(ResilienceError);
  });
});

@Controller('stages')
class UnmappedController {
  @Get()
  @Retry({ attempts: 2, backoff: { delay: 0 } })
  @CircuitBreaker({ name: 'unmapped', minimumCalls: 2, failureRateThreshold: 100 })
  @Timeout('1m')
  get() {
    return backend.call();
  }
}

onBothAdapters('mapErrors: false', (start) => {
  it('switches the answers off and leaves the stages on', async () => {
    backend.script((call) => call.fail(new Error('down')));
    const { call, resilience, log } = await start({
      controllers: [UnmappedController],
      options: { mapErrors: false },
    });

    expect((await call('/stages')).status).toBe(500);
    expect(backend.calls).toHaveLength(2);
    expect(resilience.circuitBreaker('unmapped').state).toBe('open');

    const refused = await call('/stages');
    expect(refused.status).toBe(500);
    expect(refused.body).toEqual({ statusCode: 500, message: 'Internal server error' });
    expect(refused.headers).not.toHaveProperty('retry-after');
    expect(backend.calls).toHaveLength(2);
    expect(log.errors).toHaveLength(2);
  });
});
