import assert from 'node:assert/strict';
import type { Adapter, BackoffSpec, Policy, RetrySpec } from '../adapter.js';
import { retry as ownRetry } from '../adapters/holdfast.js';
import { counted } from '../counted.js';
import { guarantee, type Guarantee } from '../guarantee.js';
import { observe } from '../observed.js';
import type { VirtualClock } from '../virtual-clock.js';
import { Unreliable } from '../works.js';

const CAP_MS = 1_000;
const GROWING: BackoffSpec = { delayMs: 100, factor: 2, maxDelayMs: CAP_MS, jitter: false };
const HINT_MS = 5_000;
const PATIENT: BackoffSpec = { delayMs: 100, factor: 1, maxDelayMs: 30_000, jitter: false };
const LONGEST_TIMER_MS = 2_147_483_647;

type Waits = (spec: RetrySpec, failed: number, error: unknown) => number;

/** Our own library with other waits between attempts. */
function waiting(waits: Waits): (ours: Required<Adapter>) => Adapter {
  return (ours) => ({
    ...ours,
    retry: (spec) => ownRetry(spec, (failed, error) => asTimer(waits(spec, failed, error))),
  });
}

/** What becomes of a delay in `setTimeout`. */
function asTimer(delayMs: number): number {
  return delayMs >= 1 && delayMs <= LONGEST_TIMER_MS ? delayMs : 1;
}

/** As it should be. */
function rightWait({ backoff, honourRetryAfter = false }: RetrySpec, failed: number, error: unknown): number {
  const { delayMs, factor, maxDelayMs, jitter } = backoff;
  const grownMs = factor === 1 ? delayMs : Math.min(maxDelayMs, delayMs * factor ** (failed - 1));
  const spreadMs = jitter ? Math.random() * grownMs : grownMs;
  const hint = honourRetryAfter ? hintOf(error) : undefined;
  if (hint === undefined) return spreadMs;

  const hintMs = isWhole(hint) ? secondsOf(hint) : dateOf(hint);
  return hintMs > 0 ? Math.max(spreadMs, Math.min(hintMs, maxDelayMs)) : spreadMs;
}

function hintOf(error: unknown): string | undefined {
  return (error as { readonly headers?: Record<string, string> } | undefined)?.headers?.['retry-after'];
}

function isWhole(hint: string): boolean {
  return /^\d+$/.test(hint);
}

function secondsOf(hint: string): number {
  return Number(hint) * 1_000;
}

function dateOf(hint: string): number {
  return Date.parse(hint) - Date.now();
}

/** Our own library with other waits where an error has a hint for which `read` gives one. */
function misreading(read: (hint: string) => number | undefined): (ours: Required<Adapter>) => Adapter {
  return waiting((spec, failed, error) => {
    const hint = spec.honourRetryAfter === true ? hintOf(error) : undefined;

    return (hint === undefined ? undefined : read(hint)) ?? rightWait(spec, failed, error);
  });
}

/** Whether the second attempt begins when a hint, or for want of one the backoff, says so. */
async function assertSecondAttemptAt(
  policy: Policy,
  failing: Unreliable,
  { clock, dueMs }: { readonly clock: VirtualClock; readonly dueMs: number },
): Promise<void> {
  const startedAt = clock.now;
  void observe(policy.run(failing.work));
  await clock.tick(dueMs - 1);
  assert.equal(failing.calls, 1, `the second attempt did not wait for ${dueMs} ms`);
  await clock.tick(1);
  assert.equal(failing.calls, 2, `the second attempt did not begin after ${dueMs} ms`);
  assert.equal((failing.startedAt[1] as number) - startedAt, dueMs);
}

function retryAfter(value: string): object {
  return { headers: { 'retry-after': value } };
}

/** Runs `check` with a random number that is always the same. */
async function withRandom(random: number, check: () => Promise<void>): Promise<void> {
  const { random: real } = Math;
  Math.random = () => random;
  try {
    await check();
  } finally {
    Math.random = real;
  }
}

function waitsOf({ startedAt }: Unreliable): number[] {
  return startedAt.slice(1).map((at, attempt) => at - (startedAt[attempt] as number));
}

interface Jittered extends Pick<Guarantee, 'id' | 'sentence' | 'seen' | 'mutant'> {
  /** What each random number is, from 0 to below 1. */
  readonly random: number;
}

function jittered({ random, ...given }: Jittered): Guarantee {
  return guarantee({
    ...given,
    policy: 'retry',
    needs: ['retry'],
    check: async ({ library, clock }) =>
      withRandom(random, async () => {
        const failing = new Unreliable(clock);
        const backoff = { ...GROWING, factor: 1e100, jitter: true };
        const call = observe(library.retry({ attempts: 8, backoff }).run(failing.work));
        await clock.tick(10 * CAP_MS);
        assert.equal(call.state, 'rejected', `after ${counted(failing.calls, 'attempt')} it goes on to wait`);
        assert.equal(failing.calls, 8, `the work ran ${counted(failing.calls, 'time')}`);
        const longest = Math.max(...waitsOf(failing));
        assert.ok(longest <= CAP_MS, `it waited ${longest} ms`);
      }),
  });
}

/** How long a retry waits between attempts. */
export const RETRY_WAITS: readonly Guarantee[] = [
  guarantee({
    id: 'backoff-is-what-was-asked-for',
    policy: 'retry',
    sentence: 'Without jitter the waits are the delay, then the factor times the one before, up to the cap.',
    seen: 'retry helpers that multiply before the first wait, or wait a second time at the end',
    needs: ['retry'],
    check: async ({ library, clock }) => {
      const failing = new Unreliable(clock);
      const call = observe(library.retry({ attempts: 7, backoff: GROWING }).run(failing.work));
      await clock.tick(100 + 200 + 400 + 800 + CAP_MS + CAP_MS);
      assert.deepEqual(
        waitsOf(failing),
        [100, 200, 400, 800, CAP_MS, CAP_MS],
        `it waited ${waitsOf(failing).join(', ')}`,
      );
      assert.equal(call.state, 'rejected', 'it waited after the last attempt too');
    },
    mutant: waiting((spec, failed, error) => rightWait(spec, failed + 1, error)),
  }),
  guarantee({
    id: 'backoff-survives-many-attempts',
    policy: 'retry',
    sentence: 'After forty doublings the wait is exactly the cap.',
    seen: 'Polly: the delay of a late attempt turned negative, and the retries went on without a pause',
    needs: ['retry'],
    check: async ({ library, clock }) => {
      const failing = new Unreliable(clock);
      void observe(library.retry({ attempts: 42, backoff: GROWING }).run(failing.work));
      await clock.tick(45 * CAP_MS);
      assert.equal(failing.calls, 42, `the work ran ${counted(failing.calls, 'time')}`);
      const late = waitsOf(failing).slice(4);
      assert.ok(
        late.every((wait) => wait === CAP_MS),
        `it waited ${late.join(', ')}`,
      );
    },
    // Whole numbers of 32 bits.
    mutant: waiting((spec, failed, error) => {
      const { delayMs, factor, maxDelayMs } = spec.backoff;
      if (factor !== 2) return rightWait(spec, failed, error);
      return Math.min(maxDelayMs, Math.imul(delayMs, 1 << (failed - 1)));
    }),
  }),
  guarantee({
    id: 'backoff-survives-infinity',
    policy: 'retry',
    sentence: 'After a thousand doublings, when the wait has grown beyond every number, it is exactly the cap.',
    seen: 'Polly: at the overflow the cap was skipped; cockatiel: delays became NaN after about a thousand tries',
    needs: ['retry'],
    check: async ({ library, clock }) => {
      const failing = new Unreliable(clock);
      void observe(library.retry({ attempts: 1_040, backoff: GROWING }).run(failing.work));
      await clock.tick(1_040 * CAP_MS);
      assert.equal(failing.calls, 1_040, `the work ran ${counted(failing.calls, 'time')}`);
      const late = waitsOf(failing).slice(1_000);
      assert.ok(
        late.every((wait) => wait === CAP_MS),
        `it waited ${late.join(', ')}`,
      );
    },
    mutant: waiting((spec, failed, error) => {
      const wait = spec.backoff.delayMs * spec.backoff.factor ** (failed - 1);
      return Number.isFinite(wait) ? rightWait(spec, failed, error) : wait;
    }),
  }),
  jittered({
    id: 'jitter-at-its-least-goes-on',
    random: 0,
    sentence: 'With jitter at its least the retries go on, also when the wait has grown beyond every number.',
    seen: 'decorrelated jitter that multiplied its smallest value by infinity: NaN',
    mutant: waiting((spec, failed, error) => {
      const { delayMs, factor, jitter } = spec.backoff;
      const isNumber = !jitter || !Number.isNaN(Math.random() * delayMs * factor ** (failed - 1));
      return isNumber ? rightWait(spec, failed, error) : LONGEST_TIMER_MS;
    }),
  }),
  jittered({
    id: 'jitter-at-its-most-stays-below-the-cap',
    random: 0.999_999,
    sentence: 'With jitter at its most no wait is over the cap, also when it has grown beyond every number.',
    seen: 'retry helpers that spread the wait after they have capped it',
    mutant: waiting((spec, failed, error) => {
      const exactMs = rightWait({ ...spec, backoff: { ...spec.backoff, jitter: false } }, failed, error);
      return spec.backoff.jitter ? (0.5 + Math.random()) * exactMs : exactMs;
    }),
  }),
  guarantee({
    id: 'retry-after-in-seconds',
    policy: 'retry',
    sentence: 'A Retry-After of five seconds keeps the next attempt back for five seconds.',
    seen: 'HTTP clients that send their retries into a dependency which had asked for a pause',
    needs: ['retry'],
    check: async ({ library, clock }) => {
      const policy = library.retry({ attempts: 2, backoff: PATIENT, honourRetryAfter: true });
      await assertSecondAttemptAt(policy, new Unreliable(clock, 1, retryAfter('5')), { clock, dueMs: HINT_MS });
    },
    // Seconds taken for milliseconds.
    mutant: misreading((hint) => (Number(hint) > 0 ? Number(hint) : undefined)),
  }),
  guarantee({
    id: 'retry-after-as-a-date',
    policy: 'retry',
    sentence: 'A Retry-After that is an HTTP date keeps the next attempt back until then.',
    seen: 'HTTP clients that know the header in seconds only',
    needs: ['retry'],
    check: async ({ library, clock }) => {
      const soon = new Date(Math.ceil(Date.now() / 1_000) * 1_000 + HINT_MS);
      const policy = library.retry({ attempts: 2, backoff: PATIENT, honourRetryAfter: true });
      const failing = new Unreliable(clock, 1, retryAfter(soon.toUTCString()));
      await assertSecondAttemptAt(policy, failing, { clock, dueMs: soon.getTime() - Date.now() });
    },
    mutant: misreading((hint) => (dateOf(hint) > 0 && !isWhole(hint) ? PATIENT.delayMs : undefined)),
  }),
  ...(
    [
      [
        'zero',
        ['0'],
        'of zero',
        'HTTP clients: a Retry-After of 0 ended the retries, or let them go on without a pause',
      ],
      [
        'the-past',
        ['Mon, 01 Jan 2001 00:00:00 GMT'],
        'in the past',
        'HTTP clients that waited a negative time: at once',
      ],
      [
        'nonsense',
        ['soon', '', '-1', '-5'],
        'that means nothing',
        'HTTP clients: a wait of NaN, which a timer takes for none',
      ],
    ] as const
  ).map(([what, values, which, seen]) =>
    guarantee({
      id: `retry-after-of-${what}-is-no-hint`,
      policy: 'retry',
      sentence: `A Retry-After ${which} neither ends the retries nor shortens their waits.`,
      seen,
      needs: ['retry'],
      check: async ({ library, clock }) => {
        for (const value of values) {
          const policy = library.retry({ attempts: 2, backoff: PATIENT, honourRetryAfter: true });
          await assertSecondAttemptAt(policy, new Unreliable(clock, 1, retryAfter(value)), { clock, dueMs: 100 });
        }
      },
      mutant: misreading((hint) => {
        if (!(values as readonly string[]).includes(hint)) return undefined;
        return what === 'the-past' ? dateOf(hint) : secondsOf(hint);
      }),
    }),
  ),
  guarantee({
    id: 'retry-after-cannot-hold-a-call-for-long',
    policy: 'retry',
    sentence: 'A Retry-After of half an hour does not hold the call for longer than its longest wait.',
    seen: 'HTTP clients: the call slept for as long as the header said, half an hour above its cap',
    needs: ['retry'],
    check: async ({ library, clock }) => {
      const policy = library.retry({ attempts: 2, backoff: PATIENT, honourRetryAfter: true });
      await assertSecondAttemptAt(policy, new Unreliable(clock, 1, retryAfter('5')), { clock, dueMs: HINT_MS });
      const failing = new Unreliable(clock, 1, retryAfter('1800'));
      const call = observe(policy.run(failing.work));
      await clock.tick(PATIENT.maxDelayMs);
      assert.notEqual(call.state, 'pending', 'it sleeps for as long as it was told');
      assert.ok(
        call.state === 'fulfilled' || call.error === failing.errors[0],
        `instead of the real error it gave ${String(call.error)}`,
      );
    },
    mutant: misreading((hint) => (secondsOf(hint) > 0 ? secondsOf(hint) : undefined)),
  }),
];
