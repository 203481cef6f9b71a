import { describe, expect, it, vi } from 'vitest';
import { pass, useFakeClock } from '../../test/fake-clock.js';
import { ManualWork } from '../../test/manual-work.js';
import { errorOf, microtasks, outcomeOf } from '../../test/outcome.js';
import { hang } from '../../test/section-work.js';
import { WatchedController } from '../../test/watched-signal.js';
import { EventRecorder } from '../testing/index.js';
import { fanOut } from './fan-out.js';
import { optional, required } from './section.js';

useFakeClock();

const down = new Error('down');
const fail = (): Promise<never> => Promise.reject(down);
const open = { fallback: null } as const;
const within = { budget: 1_000 } as const;

describe('a caller who leaves', () => {
  const reason = new Error('left');

  it('is answered with its own reason at once, and every section with it', async () => {
    const caller = new WatchedController();
    const work = new ManualWork();
    const recorder = new EventRecorder();
    const page = outcomeOf(
      fanOut({ a: required(work.run), b: optional(work.run, open) }, { ...within, signal: caller.signal }),
    );
    const signals = work.calls.map(({ context }) => context.signal);
    expect(caller.listeners).toBe(1);

    caller.abort(reason);
    await microtasks();
    recorder.stop();

    expect(page).toMatchObject({ state: 'rejected', value: reason });
    expect(signals.map((signal) => signal.reason)).toEqual([reason, reason]);
    expect([caller.listeners, vi.getTimerCount(), recorder.events.length]).toEqual([0, 0, 0]);
  });

  it('takes all that run along at once, two thousand as well', async () => {
    const caller = new WatchedController();
    const work = new ManualWork();
    const sections = Object.fromEntries(Array.from({ length: 2_000 }, (_, at) => [`s${at}`, required(work.run)]));
    const page = outcomeOf(fanOut(sections, { ...within, signal: caller.signal }));
    caller.abort(reason);
    await microtasks();

    expect(page.value).toBe(reason);
    expect(new Set(work.calls.map(({ context }) => context.signal.reason))).toEqual(new Set([reason]));
    expect([caller.listeners, vi.getTimerCount()]).toEqual([0, 0]);
  });

  it('had left before: nothing runs', async () => {
    const run = vi.fn(() => 1);

    await expect(errorOf(fanOut({ a: required(run) }, { ...within, signal: AbortSignal.abort(reason) }))).resolves.toBe(
      reason,
    );
    expect(run).not.toHaveBeenCalled();
  });

  it('leaves in the midst of the start: no further section runs', async () => {
    const caller = new WatchedController();
    const run = vi.fn(() => 1);
    const sections = { a: required(() => caller.abort(reason)), b: optional(run, open) };

    await expect(errorOf(fanOut(sections, { ...within, signal: caller.signal }))).resolves.toBe(reason);
    expect([run.mock.calls.length, caller.listeners]).toEqual([0, 0]);
  });

  it('takes none of its sections out of their queue', async () => {
    const caller = new WatchedController();
    const run = vi.fn(() => 1);
    const sections = { a: required(hang), b: optional(run, open) };
    const page = outcomeOf(fanOut(sections, { ...within, concurrency: 1, signal: caller.signal }));
    caller.abort(reason);
    await pass(1_000);

    expect(page.value).toBe(reason);
    expect(run).not.toHaveBeenCalled();
  });

  it('is noticed by the next section that starts, where its listeners were kept from hearing of it', async () => {
    const caller = new WatchedController();
    caller.signal.addEventListener('abort', (event) => event.stopImmediatePropagation());
    const run = vi.fn(() => 1);
    const work = new ManualWork();
    const sections = { a: required(work.run), b: required(hang), c: optional(run, open) };
    const page = outcomeOf(fanOut(sections, { ...within, concurrency: 2, signal: caller.signal }));
    caller.abort(reason);
    work.call(0).answer();
    await microtasks();

    expect(page.value).toBe(reason);
    expect([run.mock.calls.length, vi.getTimerCount()]).toEqual([0, 0]);
  });

  it('comes too late once a section was cut: the first reason counts', async () => {
    const caller = new WatchedController();
    const onAbort = ({ signal }: { readonly signal: AbortSignal }): Promise<never> => {
      signal.addEventListener('abort', () => caller.abort(reason));
      return hang();
    };
    const page = outcomeOf(fanOut({ a: optional(onAbort, open) }, { budget: 10, minimum: 0, signal: caller.signal }));
    await pass(10);

    expect(page.value).toMatchObject({ degraded: [{ section: 'a', reason: 'upstream_timeout', waitedMs: 10 }] });
    expect(caller.listeners).toBe(0);
  });

  it('leaves no listener, also after a thousand answers on one signal', async () => {
    const caller = new WatchedController();
    const sections = {
      a: required(() => Promise.resolve(1)),
      b: optional(fail, open),
    };
    const pages = Array.from({ length: 1_000 }, () => fanOut(sections, { ...within, signal: caller.signal }));
    expect(caller.listeners).toBe(1);

    expect((await Promise.all(pages)).every(({ degraded }) => degraded.length === 1)).toBe(true);
    expect([caller.listeners, vi.getTimerCount()]).toEqual([0, 0]);
  });
});

describe('a section that ends after the answer', () => {
  it.each<[string, (work: ManualWork) => void]>([
    ['answers', (work) => work.call(0).answer('late')],
    ['fails', (work) => work.call(0).fail(down)],
  ])('changes nothing and is nobody’s unhandled rejection: it %s', async (_how, end) => {
    const work = new ManualWork();
    const recorder = new EventRecorder();
    const page = await settled(
      fanOut({ a: optional(work.run, { timeout: 10, fallback: 'fallback' }), b: required(() => 1, { timeout: 10 }) }),
    );
    end(work);
    await pass(1);
    recorder.stop();

    expect(page).toMatchObject({ data: { a: 'fallback' }, degraded: [{ reason: 'upstream_timeout' }] });
    expect(recorder.events).toHaveLength(1);
  });

  async function settled<T>(page: Promise<T>): Promise<T> {
    await pass(10);
    return page;
  }
});
