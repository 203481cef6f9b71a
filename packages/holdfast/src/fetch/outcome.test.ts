import { describe, expect, expectTypeOf, it } from 'vitest';
import { isClientError, isDiscounted } from '../errors.js';
import {
  failure,
  FetchFailedError,
  requireValue,
  type FetchFailure,
  type FetchOutcome,
  type TimeoutReason,
} from './outcome.js';

interface Flags {
  readonly beta: boolean;
}

function thrownFor(outcome: FetchFailure): FetchFailedError {
  try {
    requireValue(outcome);
  } catch (error) {
    return error as FetchFailedError;
  }
  throw new Error('Nothing was thrown.');
}

describe('requireValue()', () => {
  it('is the value, where there is one', () => {
    expect(requireValue({ ok: true, value: { beta: true }, ms: 3 })).toEqual({ beta: true });
    expect(requireValue({ ok: true, value: undefined, ms: 3 })).toBeUndefined();
  });

  it('throws what sections and policies need to know', () => {
    const cause = new TypeError('fetch failed');
    const headers = new Map([['retry-after', '3']]) as unknown as Headers;
    const error = thrownFor(failure('upstream_error', 12, { status: 503, cause, headers }));

    expect(error).toBeInstanceOf(FetchFailedError);
    expect(error).toMatchObject({ reason: 'upstream_error', ms: 12, status: 503, cause, headers });
    expect(String(error)).toBe('FetchFailedError: fetchJson() gave no value after 12ms: upstream_error, status 503');
    expect(Object.keys(error).toSorted()).toEqual(['ms', 'reason', 'status']);
  });

  it('says nothing of a status where none has come', () => {
    const error = thrownFor(failure('upstream_timeout', 250));

    expect(error.status).toBeUndefined();
    expect(error.message).toBe('fetchJson() gave no value after 250ms: upstream_timeout');
  });

  it.each([
    [404, true],
    [429, false],
    [503, false],
    [undefined, false],
  ])('with status %s blames the request: %s', (status, blames) => {
    expect(isClientError(thrownFor(failure('upstream_error', 1, { status })))).toBe(blames);
  });

  it.each<[TimeoutReason, boolean]>([
    ['upstream_timeout', false],
    ['upstream_error', false],
    ['budget_exhausted', true],
    ['client_abort', true],
  ])('with %s says nothing about the dependency: %s', (reason, silent) => {
    expect(isDiscounted(thrownFor(failure(reason, 0)))).toBe(silent);
  });

  it('throws errors that another copy of the package knows', () => {
    const alien = Object.assign(new Error('from elsewhere'), { [Symbol.for('holdfast.error.fetch-failed')]: true });

    expect(alien).toBeInstanceOf(FetchFailedError);
    expect(new Error('other')).not.toBeInstanceOf(FetchFailedError);
  });
});

describe('the type of an outcome', () => {
  const outcome = failure('upstream_timeout', 250) as FetchOutcome<Flags>;

  it('has a value only where it is ok', () => {
    if (outcome.ok) {
      expectTypeOf(outcome.value).toEqualTypeOf<Flags>();
      return;
    }

    // @ts-expect-error -- a failed call has no value
    expect(outcome.value).toBeUndefined();
    expectTypeOf(outcome.reason).toEqualTypeOf<TimeoutReason>();
    expectTypeOf(outcome.status).toEqualTypeOf<number | undefined>();
  });

  it('must be looked at before its value or its reason is', () => {
    // @ts-expect-error -- nobody has asked whether it is ok
    expect(outcome.value).toBeUndefined();
    // @ts-expect-error -- nor here
    expect(outcome.reason).toBe('upstream_timeout');
  });

  it('knows no other reasons', () => {
    // @ts-expect-error -- misspelt
    const misspelt: FetchFailure = { ok: false, reason: 'upstream_timout', ms: 1 };
    // @ts-expect-error -- no reason of a call
    const foreign: TimeoutReason = 'circuit_open';
    // @ts-expect-error -- neither is that
    const compared = !outcome.ok && outcome.reason === 'timeout';

    expect([misspelt.reason, foreign, compared]).toEqual(['upstream_timout', 'circuit_open', false]);
  });
});
