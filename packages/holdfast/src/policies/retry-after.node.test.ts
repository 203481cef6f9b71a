import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { START, useFakeClock } from '../../test/fake-clock.js';
import { retryAfterHint } from './retry-after.js';

useFakeClock();

describe('a date of Retry-After, where local time is not that of Greenwich', () => {
  // Of all that a test could move, only Node's own switch moves the time zone.
  const { TZ } = process.env;
  beforeEach(() => void (process.env.TZ = 'Asia/Tokyo'));
  afterEach(() => {
    if (TZ === undefined) delete process.env.TZ;
    else process.env.TZ = TZ;
  });

  it.each(['Fri, 15 Jan 2027 08:00:30 GMT', 'Friday, 15-Jan-27 08:00:30 GMT', 'Fri Jan 15 08:00:30 2027'])(
    'is that of Greenwich: %s',
    (date) => {
      expect(new Date().getTimezoneOffset()).toBe(-540);
      expect(retryAfterHint({ headers: { 'retry-after': date } })).toBe(Date.UTC(2027, 0, 15, 8, 0, 30) - START);
    },
  );
});
