import { describe, expect, it } from 'vitest';
import { pass, START, useFakeClock } from '../../test/fake-clock.js';
import { microtasks, outcomeOf } from '../../test/outcome.js';
import { EventRecorder } from '../testing/index.js';
import { retryAfterHint } from './retry-after.js';
import { RetryPolicy, type RetryOptions } from './retry.js';

const QUICK: RetryOptions = { attempts: 2, backoff: { delay: 100, factor: 1 } };

useFakeClock();

const at = (milliseconds: number): string => new Date(START + milliseconds).toUTCString();
const withHeader = (value: unknown): object => ({ headers: { 'retry-after': value } });

/** The wait after an attempt that failed with this error; `undefined` when there is no other attempt. */
async function waitAfter(error: unknown, options: RetryOptions = QUICK): Promise<number | undefined> {
  const policy = new RetryPolicy(options);
  const recorder = new EventRecorder(policy);
  let calls = 0;
  const call = outcomeOf(policy.execute(() => Promise.reject((calls++, error as Error))));
  await microtasks();
  const wait = recorder.of('retry')[0]?.delayMs;
  if (wait === undefined) {
    expect(call).toEqual({ state: 'rejected', value: error });
    return undefined;
  }

  await pass(wait - 1);
  expect(calls, 'calls before the wait is over').toBe(1);
  await pass(1);
  expect(calls, 'calls once the wait is over').toBe(2);
  return wait;
}

describe('a hint of the dependency', () => {
  it.each([
    ['seconds', withHeader('2'), 2_000],
    ['seconds as a number', withHeader(2), 2_000],
    ['a future date', withHeader(at(3_000)), 3_000],
    ['milliseconds on the error', { retryAfterMs: 1_500 }, 1_500],
    ['headers of a response', { response: { headers: { 'retry-after': '2' } } }, 2_000],
    [
      'headers that are a Headers object',
      { headers: { get: (name: string) => (name === 'retry-after' ? '2' : null) } },
      2_000,
    ],
    ['one header of several', { headers: { age: '1', 'retry-after': '2', vary: '*' } }, 2_000],
    ['a name in any case', { headers: { 'Retry-After': '2' } }, 2_000],
    ['the cause', { cause: withHeader('2') }, 2_000],
    ['the response of the cause', { cause: { response: { headers: { 'retry-after': '2' } } } }, 2_000],
  ])('lengthens the wait: %s', async (_where, fields, wait) => {
    expect(await waitAfter(Object.assign(new Error('busy'), fields))).toBe(wait);
  });

  it('does not shorten it', async () => {
    const patient = { attempts: 2, backoff: { delay: '5s', factor: 1 } } as const;

    expect(await waitAfter(withHeader('2'), patient)).toBe(5_000);
    expect(await waitAfter({ retryAfterMs: 4_999 }, patient)).toBe(5_000);
    expect(await waitAfter({ retryAfterMs: 5_001 }, patient)).toBe(5_001);
  });

  it('of the error counts before that of its response, and that before the one of its cause', async () => {
    const both = { headers: { 'retry-after': '2' }, response: { headers: { 'retry-after': '3' } } };

    expect(await waitAfter(both)).toBe(2_000);
    expect(await waitAfter({ ...both, retryAfterMs: 1_000 })).toBe(1_000);
    expect(await waitAfter({ response: both.response, cause: withHeader('4') })).toBe(3_000);
  });

  it.each<[string, object]>([
    ['the error has headers without it', { headers: {}, response: withHeader('2') }],
    ['the error has no headers', { headers: null, response: withHeader('2') }],
    ['the response has headers without it', { response: { headers: {} }, cause: withHeader('2') }],
    ['the response has no headers', { response: { headers: null }, cause: withHeader('2') }],
    ['the response is none', { response: null, cause: withHeader('2') }],
    ['the milliseconds are none', { retryAfterMs: -1, headers: { 'retry-after': '2' } }],
  ])('is looked for further on when %s', async (_where, error) => {
    expect(await waitAfter(error)).toBe(2_000);
  });

  it('is not looked for deeper than in the cause', async () => {
    expect(await waitAfter({ cause: { cause: withHeader('2') } })).toBe(100);
  });
});

describe('what is no hint leaves the backoff as it is', () => {
  it.each([
    ['nothing', undefined],
    ['0', 0],
    ['"0"', '0'],
    ['zeros', '000'],
    ['a past date', at(-1_000)],
    ['the present', at(0)],
    ['a negative number', '-1'],
    ['a negative number as a number', -1],
    ['a fraction', '1.5'],
    ['a fraction as a number', 1.5],
    ['an exponent', '1e12'],
    ['a sign', '+5'],
    ['spaces', ' 5'],
    ['a unit', '5s'],
    ['garbage', 'soon'],
    ['an empty text', ''],
    ['other digits', '٥'],
    ['two headers joined', '2, 5'],
    ['two headers listed', ['2', '5']],
    ['a list of one header', ['2']],
    ['a date of another form', '2999-01-01T00:00:00Z'],
    ['a date without a zone', 'Fri, 15 Jan 2027 08:00:30'],
    ['a date in another zone', 'Fri, 15 Jan 2027 08:00:30 +0100'],
    ['a date with words before it', 'on Fri, 15 Jan 2027 08:00:30 GMT'],
    ['a date of asctime with a zone', 'Fri Jan 15 08:00:30 2027 GMT'],
    ['a date that does not exist', 'Xxx, 99 Foo 2027 08:00:30 GMT'],
    ['NaN', NaN],
    ['Infinity', Infinity],
    ['null', null],
    ['an object', {}],
  ])('%s', async (_what, value) => {
    expect(retryAfterHint(withHeader(value))).toBeUndefined();
    expect(await waitAfter(withHeader(value))).toBe(100);
  });

  it.each([0, -1, NaN, Infinity, -Infinity, '2000', null])('%s milliseconds', async (retryAfterMs) => {
    expect(retryAfterHint({ retryAfterMs })).toBeUndefined();
    expect(await waitAfter({ retryAfterMs })).toBe(100);
  });

  it('another header', async () => {
    expect(await waitAfter({ headers: { age: '2' } })).toBe(100);
  });

  it('a function that was thrown, whatever it carries', async () => {
    expect(await waitAfter(Object.assign(() => {}, { retryAfterMs: 2_000 }))).toBe(100);
  });

  it('one header in two spellings', async () => {
    expect(await waitAfter({ headers: { 'retry-after': '2', 'Retry-After': '5' } })).toBe(100);
  });

  it.each([undefined, null, 5, 'busy', { headers: null }, { response: null }, { response: 'x' }, { cause: null }])(
    'an error without any: %j',
    async (error) => {
      expect(await waitAfter(error)).toBe(100);
    },
  );
});

describe('a date of a hint', () => {
  it.each([
    ['IMF-fixdate', 'Fri, 15 Jan 2027 08:00:30 GMT'],
    ['RFC 850', 'Friday, 15-Jan-27 08:00:30 GMT'],
    ['asctime', 'Fri Jan 15 08:00:30 2027'],
    ['asctime with a day of one digit', 'Mon Feb  1 08:00:30 2027'],
  ])('may have the form of %s', async (_form, date) => {
    const milliseconds = Date.parse(date.endsWith('GMT') ? date : `${date} GMT`);
    const policy: RetryOptions = { attempts: 2, backoff: { delay: 1, factor: 1, maxDelay: '1000d' } };
    const wait = await waitAfter(withHeader(date), policy);

    expect(milliseconds).toBeGreaterThan(START);
    expect(wait).toBe(milliseconds - START);
  });

  it('is compared with the wall clock at that moment', async () => {
    const date = at(3_000);
    await pass(1_000);

    expect(await waitAfter(withHeader(date))).toBe(2_000);
  });
});

describe('a hint that asks for more patience than the backoff has', () => {
  it('ends the retries now, with the real error and without an event', async () => {
    const policy: RetryOptions = { attempts: 2, backoff: { delay: 100, maxDelay: '5s', jitter: 'none' } };

    expect(await waitAfter(withHeader('5'), policy)).toBe(5_000);
    expect(await waitAfter(withHeader('6'), policy)).toBeUndefined();
    expect(await waitAfter({ retryAfterMs: 5_000.5 }, policy)).toBeUndefined();
  });

  it('is measured against 30 s by default', async () => {
    expect(await waitAfter(withHeader('30'), { attempts: 2 })).toBe(30_000);
    expect(await waitAfter(withHeader('31'), { attempts: 2 })).toBeUndefined();
    expect(await waitAfter(withHeader(new Date(Date.now() + 30_000).toUTCString()), { attempts: 2 })).toBe(30_000);
    expect(await waitAfter(withHeader(new Date(Date.now() + 31_000).toUTCString()), { attempts: 2 })).toBeUndefined();
    expect(await waitAfter(withHeader('1000000000000'), { attempts: 2 })).toBeUndefined();
    expect(await waitAfter(withHeader(1e12), { attempts: 2 })).toBeUndefined();
  });

  it('is measured against 30 s for a backoff function, whose own waits may be longer', async () => {
    const backoff = (): '1m' => '1m';

    expect(await waitAfter(withHeader('30'), { attempts: 2, backoff })).toBe(60_000);
    expect(await waitAfter(withHeader('31'), { attempts: 2, backoff })).toBeUndefined();
    expect(await waitAfter(new Error('without a hint'), { attempts: 2, backoff })).toBe(60_000);
  });

  it('ends them even when the wait that is due would be as long', async () => {
    const policy: RetryOptions = { attempts: 2, backoff: { delay: '5s', factor: 1, maxDelay: '5s' } };

    expect(await waitAfter(withHeader('6'), policy)).toBeUndefined();
  });
});

describe('hints that are switched off', () => {
  it('change nothing', async () => {
    expect(await waitAfter(withHeader('2'), { ...QUICK, retryAfter: false })).toBe(100);
    expect(await waitAfter({ retryAfterMs: 5_000 }, { ...QUICK, retryAfter: false })).toBe(100);
    expect(await waitAfter(withHeader('3600'), { ...QUICK, retryAfter: false })).toBe(100);
  });

  it('are on by default, and when asked for', async () => {
    expect(await waitAfter(withHeader('2'), QUICK)).toBe(2_000);
    expect(await waitAfter(withHeader('2'), { ...QUICK, retryAfter: true })).toBe(2_000);
    expect(await waitAfter(withHeader('2'), { ...QUICK, retryAfter: undefined })).toBe(2_000);
  });
});
