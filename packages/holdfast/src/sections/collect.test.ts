import { describe, expect, it, vi } from 'vitest';
import { pass, useFakeClock } from '../../test/fake-clock.js';
import { ManualWork } from '../../test/manual-work.js';
import { errorOf, microtasks, outcomeOf } from '../../test/outcome.js';
import { answerAfter, failAfter, hang } from '../../test/section-work.js';
import { WatchedController } from '../../test/watched-signal.js';
import { SectionFailedError } from '../errors.js';
import { EventRecorder } from '../testing/index.js';
import { collect } from './collect.js';
import type { SectionDeclaration } from './section.js';

useFakeClock();

const down = new Error('down');
const fail = (): Promise<never> => Promise.reject(down);
const open = { fallback: null } as const;
const budget = 1_000;

describe('an answer that is built step by step', () => {
  it('has its steps under one budget', async () => {
    const parts = collect({ budget });
    expect([parts.remaining(), parts.deadline?.budgetMs]).toEqual([1_000, 1_000]);

    const session = parts.required('session', () => answerAfter(400, 'ann'));
    await pass(400);
    expect(await session).toBe('ann');
    expect(parts.remaining()).toBe(600);

    const flags = outcomeOf(parts.optional('flags', hang, { timeout: '2s', fallback: {} as never }));
    await pass(599);
    expect(flags.state).toBe('pending');
    await pass(1);
    expect(flags.value).toEqual({});
    expect(parts.degraded).toEqual([{ section: 'flags', reason: 'upstream_timeout', waitedMs: 600 }]);
  });

  it('is whole until something is missing, and lists that in the order in which it was begun', async () => {
    const parts = collect({ budget });
    await parts.required('session', () => 1);
    expect([parts.partial, parts.degraded]).toEqual([false, []]);

    const late = parts.optional('late', () => failAfter(20, down), open);
    const early = parts.optional('early', () => failAfter(10, down), open);
    await pass(10);
    expect(parts.degraded.map(({ section }) => section)).toEqual(['early']);
    await pass(10);
    await Promise.all([late, early]);

    expect(parts.partial).toBe(true);
    expect(parts.degraded.map(({ section }) => section)).toEqual(['late', 'early']);
  });

  it('hands out a list that its steps do not change afterwards', async () => {
    const parts = collect({ budget });
    const before = parts.degraded;
    await parts.optional('flags', fail, open);

    expect([before.length, parts.degraded.length]).toEqual([0, 1]);
  });

  it('needs no budget where each step has a limit', async () => {
    const parts = collect();
    const step = outcomeOf(parts.optional('flags', hang, { ...open, timeout: 50 }));
    await pass(50);

    expect(step.state).toBe('fulfilled');
    expect([parts.remaining(), parts.deadline]).toEqual([Infinity, undefined]);
  });

  it('keeps for what follows what a step reserves', async () => {
    const parts = collect({ budget: 1_500 });
    const gate = outcomeOf(parts.required('revocation', hang, { timeout: '1s', reserve: '800ms' }));
    await pass(699);
    expect(gate.state).toBe('pending');
    await pass(1);

    expect(gate.value).toMatchObject({ section: 'revocation', reason: 'upstream_timeout' });
    expect(parts.remaining()).toBe(800);
  });
});

describe('what an answer is built under step by step', () => {
  it('is an object', () => {
    expect(() => collect(5 as never)).toThrow(
      "options: expected an options object, got a number. Use { budget: '1.5s' }.",
    );
  });
});

describe('a required step', () => {
  it('rejects with what makes the answer impossible, and is listed', async () => {
    const parts = collect({ budget, name: 'edge' });
    const error = await errorOf(parts.required('gate', fail, { status: 503, retryAfter: '5s' }));

    expect(error).toBeInstanceOf(SectionFailedError);
    expect(error).toMatchObject({
      message: 'gate unavailable',
      status: 503,
      retryAfterMs: 5_000,
      policy: 'edge',
      cause: down,
    });
    expect(parts.degraded).toEqual([{ section: 'gate', reason: 'upstream_error', waitedMs: 0 }]);
  });

  it('leaves the other steps alone', async () => {
    const parts = collect({ budget });
    await errorOf(parts.required('gate', fail));

    await expect(parts.optional('flags', () => 1, open)).resolves.toBe(1);
  });
});

describe('an optional step', () => {
  it('fails closed when its fallback does', async () => {
    const parts = collect({ budget });
    const fallback = (): never => {
      throw down;
    };

    await expect(errorOf(parts.optional('flags', fail, { fallback }))).resolves.toMatchObject({
      code: 'SECTION_FAILED',
      section: 'flags',
      cause: down,
    });
  });

  it('has an answer that comes in time alone', async () => {
    const work = new ManualWork();
    const parts = collect({ budget });
    const step = outcomeOf(parts.optional('flags', work.run, { ...open, timeout: 10 }));
    await pass(10);
    work.call(0).answer('late');
    await microtasks();

    expect(step.value).toBeNull();
  });
});

describe('a step that is declared as data', () => {
  const STEPS = {
    flags: { name: 'flags', timeout: '250ms', onFailure: 'open', fallback: { beta: false } },
    gate: { name: 'gate', timeout: '200ms', onFailure: 'closed', status: 503 },
  } as const satisfies Record<string, SectionDeclaration>;

  it('fails open or closed as it says there', async () => {
    const parts = collect({ budget });

    await expect(parts.step(STEPS.flags, fail)).resolves.toEqual({ beta: false });
    await expect(errorOf(parts.step(STEPS.gate, fail))).resolves.toMatchObject({ section: 'gate', status: 503 });
    await expect(parts.step(STEPS.gate, () => 1)).resolves.toBe(1);
    expect(parts.degraded.map(({ section }) => section)).toEqual(['flags', 'gate']);
  });

  it.each<[string, unknown, RegExp]>([
    ['nothing', undefined, /^expected an options object, got undefined/],
    ['a bad limit', { ...STEPS.gate, timeout: -1 }, /^gate\.timeout: Invalid duration -1/],
    ['a bad name', { ...STEPS.gate, name: 'my gate' }, /^my gate\.name: "my gate" is no name/],
    ['an order', { ...STEPS.gate, after: { a: {} } }, /^gate\.after\.a: expected a section/],
  ])('is checked before it runs: %s', async (_what, declaration, message) => {
    const run = vi.fn(() => 1);

    await expect(collect({ budget }).step(declaration as never, run)).rejects.toThrow(message);
    expect(run).not.toHaveBeenCalled();
  });
});

describe('the options of a step', () => {
  it.each<[string, unknown, RegExp]>([
    ['a name that no header shows', ['a b', () => 1, {}], /^a b\.name: "a b" is no name for a section/],
    ['a name that is none', [undefined, () => 1, {}], /^name: undefined is no name/],
    ['no function', ['gate', undefined, {}], /^gate\.run: expected a function/],
    ['a negative timeout', ['gate', () => 1, { timeout: -1 }], /^gate\.timeout: Invalid duration -1/],
    [
      'a second name',
      ['gate', () => 1, { name: 'other' }],
      /^gate\.name: a step is called by the first argument\. Leave the option out\.$/,
    ],
    ['options that are none', ['gate', () => 1, 5], /^gate: expected an options object, got a number/],
    ['a reserve that is too large', ['gate', () => 1, { reserve: budget }], /^gate\.reserve: 1000 ms leave nothing/],
  ])('are checked before it runs: %s', async (_what, args, message) => {
    const parts = collect({ budget });
    const error = await errorOf((parts.required as (...args: unknown[]) => Promise<unknown>).apply(parts, args as []));

    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toMatch(message);
    expect(parts.partial).toBe(false);
  });

  it('name no others to come after: they do anyhow', async () => {
    const { required } = await import('./section.js');
    const options = { after: { a: required(() => 1) } } as object;

    await expect(collect({ budget }).required('gate', () => 1, options)).rejects.toThrow(
      'gate.after: steps come one after the other anyhow. Use what the earlier ones gave.',
    );
  });
});

describe('a caller who leaves while an answer is built', () => {
  const reason = new Error('left');

  it('ends the step with its reason at once, and leaves it in the list', async () => {
    const caller = new WatchedController();
    const work = new ManualWork();
    const recorder = new EventRecorder();
    const parts = collect({ budget, signal: caller.signal });
    const steps = [outcomeOf(parts.required('gate', work.run)), outcomeOf(parts.optional('flags', work.run, open))];
    const { signal } = work.call(0).context;
    await pass(30);
    caller.abort(reason);
    await microtasks();
    recorder.stop();

    expect(steps.map(({ value }) => value)).toEqual([reason, reason]);
    expect(signal.reason).toBe(reason);
    expect(parts.degraded).toEqual([
      { section: 'gate', reason: 'client_abort', waitedMs: 30 },
      { section: 'flags', reason: 'client_abort', waitedMs: 30 },
    ]);
    expect(parts.partial).toBe(true);
    expect([recorder.events.length, caller.listeners, vi.getTimerCount()]).toEqual([0, 0, 0]);
  });

  it('lets no further step run', async () => {
    const caller = new WatchedController();
    const parts = collect({ budget, signal: caller.signal });
    await parts.optional('flags', () => 1, open);
    caller.abort(reason);
    const run = vi.fn(() => 1);

    await expect(errorOf(parts.optional('late', run, open))).resolves.toBe(reason);
    await expect(errorOf(parts.required('later', run))).resolves.toBe(reason);
    expect([run.mock.calls.length, caller.listeners]).toEqual([0, 0]);
    expect(parts.degraded).toEqual([]);
  });
});
