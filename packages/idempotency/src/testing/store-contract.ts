import type { Duration } from 'holdfast';
import { OptionError, parseDuration, rejectUnknown, requireFunction, requireObject, show } from 'holdfast/binding';
import type { IdempotencyStore } from '../store.js';
import { CONTENT_CASES } from './content-cases.js';
import { OWNERSHIP_CASES } from './ownership-cases.js';
import { RACE_CASES } from './race-cases.js';
import { TIME_CASES } from './time-cases.js';
import { Trial, type TrialTiming } from './trial.js';

export interface IdempotencyStoreContractOptions {
  /**
   * Moves the store's clock by so many milliseconds, such as `(ms) => vi.advanceTimersByTime(ms)`, when time stands still
   * otherwise: then ends are looked at to the millisecond. Without it, the cases wait for about ten seconds altogether.
   */
  readonly advanceTime?: ((milliseconds: number) => void | Promise<void>) | undefined;
  /** Six more cases, with so many callers at once, at least 2; `true` are 16. Default `false`. */
  readonly concurrent?: boolean | { readonly callers: number } | undefined;
  /**
   * How long a lock lives where a case waits for its end; a record lives three times as long. At least 40 ms, default
   * 600 ms. A store that may take a quarter of it for a call needs a longer one.
   */
  readonly lockTime?: Duration | undefined;
}

/** A rule of the contract, to be handed to any test runner. */
export interface IdempotencyStoreContractCase {
  /** A sentence whose subject is the store. */
  readonly name: string;
  /** Rejects with an `AssertionError` of `node:assert` when the store breaks the rule. Takes less than four seconds. */
  readonly run: () => Promise<void>;
}

const DEFAULT_CALLERS = 16;
const DEFAULT_LOCK_TIME = 600;
const MIN_LOCK_TIME = 40;

/**
 * What every store must do, as cases for any test runner: 13 of them, 19 with `concurrent`.
 *
 *     for (const { name, run } of idempotencyStoreContract(() => new MyStore(), { concurrent: true })) it(name, run);
 *
 * Every case asks `createStore` for a store, which may be the same each time, and uses keys of its own: cases can share
 * a database with other data and, unless they move the clock, run side by side. They leave records behind, one of them
 * for 30 days.
 *
 * @throws TypeError when an option is not what it should be; RangeError for fewer than two callers.
 */
export function idempotencyStoreContract(
  createStore: () => IdempotencyStore | Promise<IdempotencyStore>,
  options: IdempotencyStoreContractOptions = {},
): IdempotencyStoreContractCase[] {
  requireFunction(createStore, 'createStore');
  requireObject(options, 'options', 'For example: { concurrent: true }.');
  rejectUnknown(options, ['advanceTime', 'concurrent', 'lockTime']);
  const timing = readTiming(options);
  const callers = readCallers(options.concurrent ?? false);

  const rules: readonly (readonly [string, (trial: Trial) => Promise<void>])[] = [
    ...Object.entries({ ...OWNERSHIP_CASES, ...TIME_CASES, ...CONTENT_CASES }),
    ...(callers === 0 ? [] : Object.entries(RACE_CASES)).map(
      ([name, rule]) => [name, (trial: Trial) => rule(trial, callers)] as const,
    ),
  ];

  return rules.map(([name, rule]) => ({ name, run: async () => rule(new Trial(await createStore(), timing)) }));
}

function readTiming({ advanceTime, lockTime = DEFAULT_LOCK_TIME }: IdempotencyStoreContractOptions): TrialTiming {
  const lockMs = Math.ceil(parseDuration(lockTime, 'lockTime'));
  if (lockMs < MIN_LOCK_TIME) {
    throw new OptionError('lockTime', `expected at least ${MIN_LOCK_TIME}ms, got ${show(lockTime)}.`);
  }
  if (advanceTime === undefined) return { pass: sleep, exact: false, lockTime: lockMs };

  return { pass: requireFunction(advanceTime, 'advanceTime'), exact: true, lockTime: lockMs };
}

function readCallers(concurrent: boolean | { readonly callers: number }): number {
  if (concurrent === false) return 0;
  if (concurrent === true) return DEFAULT_CALLERS;

  requireObject(concurrent, 'concurrent', 'For example: { callers: 16 }, or true.');
  rejectUnknown(concurrent, ['callers'], 'concurrent');
  const { callers } = concurrent;
  if (Number.isInteger(callers) && callers >= 2) return callers;

  throw new RangeError(`concurrent.callers: expected a whole number of at least 2, got ${show(callers)}.`);
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
