import { Agent } from 'node:http';
import { connect } from 'node:net';
import { Controller, Get, Injectable, Post } from '@nestjs/common';
import {
  Budget,
  CircuitBreaker,
  deadlineHeader,
  Fallback,
  ResilienceService,
  Retry,
  Signal,
  Timeout,
  type ResiliencePolicy,
} from '@nestjs/resilience';
import { beforeEach, expect, it, vi } from 'vitest';
import { beforeClosing, freezeTime, onBothAdapters, type Application } from './fixtures/application.js';
import { Backend, isPending, turns, until } from './fixtures/backend.js';

let backend: Backend;
let outgoing: unknown[] = [];

beforeEach(() => {
  backend = new Backend();
  outgoing = [];
});

const HEADER = 'x-request-timeout-ms';

/** Calls the dependency, and writes down what it would send along. */
function callOn(signal?: AbortSignal): Promise<unknown> {
  outgoing.push(deadlineHeader(HEADER));
  return backend.call(signal);
}

@Injectable()
class CarrierClient {
  private readonly policy: ResiliencePolicy;

  constructor(resilience: ResilienceService) {
    this.policy = resilience.create({ timeout: '10s', circuitBreaker: { name: 'inner', minimumCalls: 1 } }, 'carrier');
  }

  quotes(): Promise<unknown> {
    return this.policy.execute(({ signal }) => callOn(signal));
  }
}

@Controller()
class QuotesController {
  constructor(private readonly carrier: CarrierClient) {}

  @Get('limited')
  @Timeout('1s')
  @CircuitBreaker({ name: 'outer', minimumCalls: 1 })
  limited(@Signal() signal: AbortSignal) {
    return callOn(signal);
  }

  @Get('budgeted')
  @Budget('1s')
  @CircuitBreaker({ name: 'budgeted', minimumCalls: 1 })
  budgeted(@Signal() signal: AbortSignal) {
    return callOn(signal);
  }

  @Post('posted')
  @Timeout('1s')
  posted(@Signal() signal: AbortSignal) {
    return callOn(signal);
  }

  @Get('retried')
  @Timeout(100)
  @Retry({ attempts: 3, backoff: { delay: 20.5, factor: 1, jitter: 'none' } })
  retried(@Signal() signal: AbortSignal) {
    return callOn(signal);
  }

  @Get('inherited')
  @Timeout('1s')
  inherited() {
    return this.carrier.quotes();
  }

  @Get('replaced')
  @Timeout('1s')
  @Fallback(() => 'flat')
  replaced(@Signal() signal: AbortSignal) {
    return callOn(signal);
  }

  @Get('plain')
  plain() {
    return callOn();
  }
}

const EXCEEDED = {
  statusCode: 504,
  error: 'Gateway Timeout',
  message: 'The operation timed out',
  code: 'DEADLINE_EXCEEDED',
};

onBothAdapters('What a caller says about how long it will wait', (start) => {
  const startQuotes = async (options = {}): Promise<Application> => {
    const app = await start({
      controllers: [QuotesController],
      providers: [CarrierClient],
      options: { deadlineHeaders: ['X-Request-Timeout-Ms', 'grpc-timeout'], ...options },
    });
    freezeTime();

    return app;
  };
  const within = (value: string, header = HEADER) => ({ headers: { [header]: value } });
  /** Whether the answer comes at this moment, and not a millisecond earlier. */
  const expectAnswerAt = async (answer: Promise<unknown>, milliseconds: number): Promise<void> => {
    await vi.advanceTimersByTimeAsync(milliseconds - 1);
    expect(await isPending(answer)).toBe(true);
    await vi.advanceTimersByTimeAsync(1);
  };

  it.each([
    ['/limited', HEADER, '300', 300],
    ['/limited', 'grpc-timeout', '300m', 300],
    ['/limited', 'grpc-timeout', '300000u', 300],
    ['/budgeted', HEADER, '300', 300],
  ])('shortens what the handler has: %s with %s: %s', async (path, header, value, milliseconds) => {
    const { call, events } = await startQuotes();
    const answer = call(path, within(value, header));
    const running = await backend.reached(1);
    await expectAnswerAt(answer, milliseconds);

    expect(await answer).toMatchObject({ status: 504, body: EXCEEDED });
    const handler = `QuotesController.${path.slice(1)}`;
    expect(running.signal?.reason).toMatchObject({ code: 'DEADLINE_EXCEEDED', policy: handler, budgetMs: 300 });
    expect(events).toEqual([{ type: 'deadline', policy: handler, source: handler, budgetMs: 300 }]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('holds for a POST too', async () => {
    const { call } = await startQuotes();
    const answer = call('/posted', { method: 'POST', ...within('300') });
    await backend.reached(1);
    await expectAnswerAt(answer, 300);

    expect(await answer).toMatchObject({ status: 504, body: EXCEEDED });
  });

  it.each([
    ['/limited', '5000', 'TIMEOUT'],
    ['/budgeted', '5000', 'DEADLINE_EXCEEDED'],
    ['/budgeted', '1000', 'DEADLINE_EXCEEDED'],
  ])('lengthens nothing: %s with %s ms is over after a second', async (path, value, code) => {
    const app = await startQuotes();
    const answer = app.call(path, within(value));
    await backend.reached(1);
    await expectAnswerAt(answer, 1_000);

    expect(await answer).toMatchObject({ status: 504, body: { code } });
    expect(app.events).toHaveLength(2);
    expect(app.events[1]).toMatchObject({ type: 'circuit-open' });
  });

  it.each([
    '99999999H',
    '1e9',
    '0',
    '-5',
    '3.5',
    '+300',
    '300ms',
    '0x10',
    '1_000',
    '3600001',
    '00000300',
    '300, 300',
    '',
    'soon',
    'NaN',
    'Infinity',
    '３００',
    '٣٠٠',
    '300;300',
    '300 300',
  ])('is ignored when it is not in the form of its header: %s', async (value) => {
    const { call } = await startQuotes();
    const answer = call('/limited', within(Buffer.from(value).toString('latin1')));
    await backend.reached(1);
    await expectAnswerAt(answer, 1_000);

    expect(await answer).toMatchObject({ body: { code: 'TIMEOUT' } });
  });

  it('is ignored when its header comes twice', async () => {
    const { url } = await startQuotes();
    const { port, hostname } = new URL(url);
    const socket = connect(Number(port), hostname);
    beforeClosing(() => socket.destroy());
    socket.write(`GET /limited HTTP/1.1\r\nHost: test\r\n${HEADER}: 300\r\n${HEADER}: 300\r\n\r\n`);
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(999);
    await turns();
    expect(text).toBe('');
    await vi.advanceTimersByTimeAsync(1);
    await until(() => text.includes('TIMEOUT'));

    expect(text).toContain('HTTP/1.1 504');
  });

  it('is ignored in a header that the application does not name', async () => {
    const { call } = await startQuotes();
    const answer = call('/limited', within('300', 'connect-timeout-ms'));
    await backend.reached(1);
    await expectAnswerAt(answer, 1_000);

    expect(await answer).toMatchObject({ body: { code: 'TIMEOUT' } });
  });

  it('is not read until a header is named', async () => {
    const { call } = await startQuotes({ deadlineHeaders: undefined });
    const answer = call('/limited', within('300'));
    await backend.reached(1);
    await expectAnswerAt(answer, 1_000);

    expect(await answer).toMatchObject({ body: { code: 'TIMEOUT' } });
  });

  it('is not read for a handler without a plan', async () => {
    const { call } = await startQuotes();
    const answer = call('/plain', within('300'));
    const running = await backend.reached(1);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await isPending(answer)).toBe(true);
    running.answer('fine');

    expect((await answer).text).toBe('fine');
    expect(outgoing).toEqual([undefined]);
  });

  it('counts as the shorter one where two headers say it', async () => {
    const { call } = await startQuotes();
    const answer = call('/limited', { headers: { [HEADER]: '400', 'grpc-timeout': '300m' } });
    await backend.reached(1);
    await expectAnswerAt(answer, 300);

    expect((await answer).status).toBe(504);
  });

  it.each([
    ['19', false],
    ['20', true],
  ])('that leaves %s ms of at least 20 runs the handler: %s', async (value, runs) => {
    const app = await startQuotes({ minRemaining: '20ms' });
    backend.script((call) => call.answer('fine'));
    const answer = await app.call('/limited', within(value));

    expect(answer).toMatchObject(runs ? { status: 200, text: 'fine' } : { status: 504, body: EXCEEDED });
    expect(backend.calls).toHaveLength(runs ? 1 : 0);
    const handler = 'QuotesController.limited';
    expect(app.events).toEqual(runs ? [] : [{ type: 'deadline', policy: handler, source: handler, budgetMs: 19 }]);
    expect(app.resilience.circuitBreaker('outer').stats).toMatchObject({ total: runs ? 1 : 0 });
  });

  it('is less by the margin for the way, for the handler and for its dependencies', async () => {
    const { call, events } = await startQuotes({ deadlineMargin: '50ms' });
    const answer = call('/limited', within('300'));
    await backend.reached(1);
    await expectAnswerAt(answer, 250);

    expect(await answer).toMatchObject({ status: 504, body: EXCEEDED });
    expect(outgoing).toEqual(['250']);
    expect(events).toMatchObject([{ type: 'deadline', budgetMs: 250 }]);
  });

  it('takes no margin off what the handler has by itself', async () => {
    const { call } = await startQuotes({ deadlineMargin: '50ms' });
    const answer = call('/budgeted', within('1050'));
    (await backend.reached(1)).answer('fine');
    await answer;

    expect(outgoing).toEqual(['1000']);
  });

  it.each([{ deadlineMargin: '50ms' }, { deadlineMargin: '1h' }, { deadlineMargin: '50ms', minRemaining: 0 }])(
    'that is no more than the margin is over on arrival: %o',
    async (options) => {
      const { call } = await startQuotes(options);

      expect(await call('/limited', within('50'))).toMatchObject({ status: 504, body: EXCEEDED });
      expect(backend.calls).toHaveLength(0);
    },
  );

  it('that is over on arrival is not answered by a fallback either', async () => {
    const { call } = await startQuotes({ minRemaining: '20ms' });

    expect(await call('/replaced', within('19'))).toMatchObject({ status: 504, body: EXCEEDED });
  });

  it('ends in time for a fallback, which answers outside of it', async () => {
    const { call } = await startQuotes();
    const answer = call('/replaced', within('300'));
    await backend.reached(1);
    await expectAnswerAt(answer, 300);

    expect(await answer).toMatchObject({ status: 200, text: 'flat' });
  });

  it('is no fault of a dependency: no breaker counts it, neither at the handler nor in a service', async () => {
    const app = await startQuotes();
    for (const [nth, path] of [
      [1, '/limited'],
      [2, '/budgeted'],
      [3, '/inherited'],
    ] as const) {
      const answer = app.call(path, within('300'));
      await backend.reached(nth);
      await vi.advanceTimersByTimeAsync(300);
      expect((await answer).status).toBe(504);
    }

    const breakers = app.resilience.circuitBreakers();
    expect(breakers.map(({ name }) => name).toSorted()).toEqual(['budgeted', 'inner', 'outer']);
    for (const { stats } of breakers) expect(stats.total).toBe(0);
  });

  it('goes on to dependencies: set anew for each attempt, rounded up, at least 1', async () => {
    const { call } = await startQuotes();
    const answer = call('/retried', within('241'));
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(100 + 21);
    await backend.reached(2);
    await vi.advanceTimersByTimeAsync(100 + 20);

    expect((await answer).status).toBe(504);
    expect(outgoing).toEqual(['241', '120']);
  });

  it('goes on through the policies of services', async () => {
    const { call } = await startQuotes();
    const answer = call('/inherited', within('300'));
    (await backend.reached(1)).answer('fine');

    expect((await answer).text).toBe('fine');
    expect(outgoing).toEqual(['300']);
  });

  it('is what is left of the handler’s own budget where that is shorter', async () => {
    const { call } = await startQuotes();
    const answer = call('/budgeted', within('5000'));
    (await backend.reached(1)).answer('fine');
    await answer;

    expect(outgoing).toEqual(['1000']);
  });

  it('holds for each request of a connection that is kept', async () => {
    const { call } = await startQuotes();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    beforeClosing(() => agent.destroy());
    backend.script((one) => one.answer('fine'));
    for (const value of ['300', '5000', '400']) await call('/inherited', { ...within(value), agent });

    expect(outgoing).toEqual(['300', '5000', '400']);
    expect(vi.getTimerCount()).toBe(0);
  });
});

it('deadlineHeader() is undefined without a deadline, and refuses headers that carry none', () => {
  expect(deadlineHeader('grpc-timeout')).toBeUndefined();
  expect(() => deadlineHeader('x-timeout')).toThrow('name: "x-timeout" is no header that carries a deadline. Known:');
});
