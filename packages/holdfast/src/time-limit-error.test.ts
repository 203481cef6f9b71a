import { describe, expect, it } from 'vitest';
import { DeadlineExceededError, ResilienceTimeoutError } from './errors.js';
import { isTimeout, limitBehind, nameOf, timeLimitError } from './time-limit-error.js';

const timeout = new ResilienceTimeoutError(300, 'reviews');
const deadline = new DeadlineExceededError(1_000, 'page');
const hostile = new Proxy(new Error('hostile'), {
  get: () => {
    throw new Error('do not look');
  },
});

describe('the form in which a limit reaches code that knows nothing of ours', () => {
  it('is what AbortSignal.timeout() gives, with our error behind it', () => {
    const error = timeLimitError(timeout);

    expect(error).toBeInstanceOf(DOMException);
    expect(error).toMatchObject({ name: 'TimeoutError', message: timeout.message, cause: timeout });
    expect(error.code).toBe(DOMException.TIMEOUT_ERR);
  });

  it('shows nothing of ours to what walks over its fields', () => {
    expect(Object.keys(timeLimitError(deadline))).toEqual([]);
  });
});

describe('the limit behind an error', () => {
  it.each([timeout, deadline])('is found in both forms: %s', (limit) => {
    expect(limitBehind(limit)).toBe(limit);
    expect(limitBehind(timeLimitError(limit))).toBe(limit);
  });

  it('is not a cause that somebody else has set', () => {
    expect(limitBehind(new Error('down', { cause: timeout }))).toBeUndefined();
    expect(limitBehind({ [Symbol.for('holdfast.time-limit')]: new Error('none of ours') })).toBeUndefined();
  });

  it.each([undefined, null, 'TimeoutError', 7, new DOMException('over', 'TimeoutError'), hostile])(
    'is none for anything else',
    (error) => {
      expect(limitBehind(error)).toBeUndefined();
    },
  );
});

describe('whether time was over', () => {
  it('is said by our limits in both forms, and by the name that the platform gives', () => {
    for (const reason of [timeout, deadline, timeLimitError(timeout), new DOMException('over', 'TimeoutError')]) {
      expect(isTimeout(reason)).toBe(true);
    }
    for (const reason of [undefined, new DOMException('left', 'AbortError'), new Error('down'), hostile]) {
      expect(isTimeout(reason)).toBe(false);
    }
  });

  it('is asked of names that may not be there', () => {
    expect(nameOf(timeout)).toBe('ResilienceTimeoutError');
    expect([nameOf(undefined), nameOf('text'), nameOf(hostile)]).toEqual([undefined, undefined, undefined]);
  });
});
