import { subscribe as listenOn, unsubscribe as stopListening } from 'node:diagnostics_channel';
import { Controller, Get } from '@nestjs/common';
import {
  Budget,
  collect,
  DeadlineExceededError,
  fanOut,
  optional,
  required,
  Retry,
  Timeout,
  type ResilienceEvent,
} from '@nestjs/resilience';
import { runInScope } from 'holdfast/binding';
import { beforeEach, expect, it, vi } from 'vitest';
import { beforeClosing, freezeTime, onBothAdapters } from './fixtures/application.js';
import { Backend } from './fixtures/backend.js';

let reviews: Backend;

beforeEach(() => {
  reviews = new Backend();
});

const sections = () => ({
  reviews: optional(({ signal }: { readonly signal: AbortSignal }) => reviews.call(signal), {
    timeout: '300ms',
    fallback: null,
  }),
});
const page = () => fanOut(sections(), { name: 'page', minimum: 0 });
const fails = (error: unknown) => () => Promise.reject(error);

@Controller()
class PagesController {
  @Get('plain')
  plain() {
    return page();
  }

  @Get('limited')
  @Timeout('2s')
  limited() {
    return page();
  }

  @Get('deep')
  @Timeout('2s')
  deep() {
    const inner = () => runInScope({ signal: new AbortController().signal }, () => page());
    return fanOut({ page: required(async () => (await inner()).data, { timeout: '1s' }) });
  }

  @Get('detached')
  @Timeout('2s')
  detached() {
    return fanOut(sections(), { name: 'page', minimum: 0, detached: true });
  }

  @Get('twice')
  @Budget('10s')
  @Retry({ attempts: 2, backoff: { delay: 0 } })
  twice() {
    return fanOut({ catalog: required(fails(new Error('connect ECONNREFUSED')), { timeout: '1s' }) });
  }

  @Get('steps')
  @Timeout('2s')
  async steps() {
    const parts = collect({ name: 'steps', budget: '1s' });
    await parts.optional('flags', fails(new Error('flags are down')), { fallback: null });
    await parts.optional('session', fails('no error at all'), { fallback: null });
    await parts.optional('left', fails(new DOMException('aborted by its own code', 'AbortError')), { fallback: null });
    return {};
  }

  @Get('chain')
  @Timeout('2s')
  chain() {
    const product = optional(fails(new Error('catalog is down')), { timeout: '1s', fallback: null });
    const similar = optional(() => [], { after: { product }, timeout: '1s', fallback: [] });
    return fanOut({ product, similar }, { minimum: 0 });
  }

  @Get('exhausted')
  @Timeout('2s')
  exhausted() {
    return fanOut(
      { reviews: optional(() => 1, { timeout: '1s', reserve: '80ms', fallback: null }) },
      { name: 'page', budget: '100ms', minimum: 0, minRemaining: '50ms' },
    );
  }
}

/** Writes down what is published during a test. */
function record(channel: string): ResilienceEvent[] {
  const messages: ResilienceEvent[] = [];
  const listener = (message: unknown): void => void messages.push(message as ResilienceEvent);
  listenOn(channel, listener);
  beforeClosing(() => stopListening(channel, listener));

  return messages;
}

const degraded = (policy: string, section: string, changes = {}) =>
  expect.objectContaining({ type: 'degraded', policy, section, ...changes }) as unknown;

onBothAdapters('A section that fails', (start) => {
  const startPages = () => start({ controllers: [PagesController] });

  async function letTimeOut(path: string, call: (path: string) => Promise<unknown>): Promise<void> {
    freezeTime();
    const answer = call(path);
    await reviews.reached(1);
    await vi.advanceTimersByTimeAsync(300);
    await answer;
  }

  it.each(['plain', 'limited'])('is told to events$ and on the channels, once (%s)', async (route) => {
    const { call, events } = await startPages();
    const ours = record('nestjs:resilience:degraded');
    const engines = record('holdfast:degraded');
    await letTimeOut(`/${route}`, call);

    const told = degraded('page', 'reviews', { reason: 'upstream_timeout', waitedMs: 300 });
    expect(events.filter(({ type }) => type === 'degraded')).toEqual([told]);
    expect(ours).toEqual([told]);
    expect(engines).toEqual([told]);
  });

  it.each(['limited', 'deep', 'detached'])(
    'is told to the application that it ran in, and to no other one (%s)',
    async (route) => {
      const [one, other] = [await startPages(), await startPages()];
      await letTimeOut(`/${route}`, one.call);

      expect(one.events.filter(({ type }) => type === 'degraded')).toHaveLength(1);
      expect(other.events).toEqual([]);
    },
  );

  it('is told to all applications when it ran outside of any plan, and logged once', async () => {
    const [one, other] = [await startPages(), await startPages()];
    freezeTime();
    const answer = page();
    await reviews.reached(1);
    await vi.advanceTimersByTimeAsync(300);
    await answer;

    expect(one.events).toEqual([degraded('page', 'reviews')]);
    expect(other.events).toEqual([degraded('page', 'reviews')]);
    // Nest has one logger: that of the application which was made last.
    expect([...one.log.lines, ...other.log.lines]).toEqual(['[page] reviews: no answer within 300ms']);
  });

  it('is told to nobody who has shut down, and is not logged any more', async () => {
    const { app, events, log } = await startPages();
    await app.close();
    reviews.script((call) => call.fail(new Error('down')));
    await page();

    expect(events).toEqual([]);
    expect(log.lines).toEqual([]);
  });

  it('is a warning under the class of its handler: how long nobody answered', async () => {
    const { call, log } = await startPages();
    await letTimeOut('/limited', call);

    expect(log.lines).toEqual(['[PagesController] reviews: no answer within 300ms']);
  });

  it('is a warning under the name of the fan-out where no plan tells the handler', async () => {
    const { call, log } = await startPages();
    await letTimeOut('/plain', call);

    expect(log.lines).toEqual(['[page] reviews: no answer within 300ms']);
  });

  it('is a warning with the message of its error, once in a request, also when it is required', async () => {
    const { call, events, log } = await startPages();

    expect((await call('/twice')).status).toBe(502);
    expect(events.filter(({ type }) => type === 'degraded')).toHaveLength(2);
    expect(log.lines).toEqual(['[PagesController] catalog: connect ECONNREFUSED']);

    await call('/twice');
    expect(log.lines).toHaveLength(2);
  });

  it('is a warning whatever was thrown, but for a client that has left', async () => {
    const { call, log } = await startPages();
    await call('/steps');

    expect(log.lines).toEqual([
      '[PagesController] flags: flags are down',
      '[PagesController] session: no error at all',
    ]);
  });

  it('names what became of those that need it', async () => {
    const { call, log } = await startPages();
    await call('/chain');

    expect(log.lines).toEqual(['[PagesController] product: catalog is down', '[PagesController] similar: skipped']);
  });

  it('says so when nothing was left to run it with', async () => {
    const { call, events, log } = await startPages();
    await call('/exhausted');

    expect(events).toEqual([
      degraded('page', 'reviews', {
        reason: 'budget_exhausted',
        waitedMs: 0,
        error: expect.any(DeadlineExceededError) as unknown,
      }),
    ]);
    expect(log.lines).toEqual(['[PagesController] reviews: Not answered within the budget of 100ms']);
  });

  it('is part of a fan-out that budgets() lists once it has run', async () => {
    const { call, resilience } = await startPages();
    const listed = () => resilience.budgets().filter(({ source }) => source.includes('>'));
    expect(listed()).toEqual([]);
    await call('/steps');
    await call('/chain');
    await call('/exhausted');

    expect(listed().map(({ source, worstCaseMs, arithmetic }) => [source, worstCaseMs, arithmetic])).toEqual([
      ['PagesController.steps > steps', 1_000, 'its own budget of 1000 ms'],
      ['PagesController.chain > fan-out', 2_000, 'at most the 2000 ms around'],
      ['PagesController.exhausted > page', 100, 'its own budget of 100 ms'],
    ]);
  });

  it('is told by the copy of the package that its application has', async () => {
    const { call, events } = await startPages();
    vi.resetModules();
    await import('@nestjs/resilience');
    await letTimeOut('/limited', call);

    expect(events.filter(({ type }) => type === 'degraded')).toHaveLength(1);
  });
});
