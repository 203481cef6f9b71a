import { adaptive, required, TimeoutPolicy } from 'holdfast';

/** What the documentation's tables say an option takes, as values on both sides of each bound. */

export interface Phrase {
  readonly takes: readonly unknown[];
  readonly refuses: readonly unknown[];
  /** Options that must stand beside it. */
  readonly beside?: Readonly<Record<string, unknown>>;
}

const noNumbers = [Number.NaN, '3', null, {}, true];
const noDurations = [-1, Number.NaN, Infinity, '-1s', '1 s', '500', '5 seconds', null, {}, true];
const anything = (): boolean => true;

export const PHRASES: Readonly<Record<string, Phrase>> = {
  'a name': { takes: ['carrier'], refuses: ['', 5, null] },
  'a function': { takes: [anything], refuses: ['x', 5, {}, null] },
  '`true` or `false`': { takes: [true, false], refuses: ['true', 0, null] },
  'a duration': { takes: [0, '0ms', 0.5, '250ms', '1.5s', '1w'], refuses: noDurations },
  'a duration above 0': { takes: [0.5, '1ms', '1w'], refuses: [0, '0s', ...noDurations] },
  'a duration above 0, a function of the attempt, or `adaptive()`': {
    takes: [0.5, '1ms', (attempt: number) => attempt, adaptive()],
    refuses: [0, '0s', ...noDurations],
  },
  'a whole number, at least 1': { takes: [1, 10], refuses: [0, -1, 1.5, Infinity, ...noNumbers] },
  'a whole number, at least 1, or `Infinity`': { takes: [1, 10, Infinity], refuses: [0, -1, 1.5, ...noNumbers] },
  'a whole number, at least 0, or `Infinity`': { takes: [0, 10, Infinity], refuses: [-1, 1.5, ...noNumbers] },
  "`'quantile'`, `'rto'` or `'mean'`": { takes: ['quantile', 'rto', 'mean'], refuses: ['median', 5, null] },
  'a whole number from 1 to 1,000,000': {
    takes: [1, 1_000_000],
    refuses: [0, 1.5, 1_000_001, Infinity, ...noNumbers],
  },
  'a number above 0 and below 1': { takes: [0.01, 0.999], refuses: [0, 1, -1, ...noNumbers] },
  // The test's own floor and ceiling are half a millisecond and a week.
  'a duration from `min` to `max`': { takes: [0.5, '1s', '1w'], refuses: [0, 0.4, '8d', ...noDurations] },
  'a duration above 0, up to `initial`': { takes: [0.5, '1s'], refuses: [0, '1001ms', ...noDurations] },
  'a duration, at least `initial`': { takes: ['1s', '1w'], refuses: [0, '999ms', ...noDurations] },
  'a duration below `budget`': { takes: [0, '1ms', '6d'], refuses: ['1w', ...noDurations] },
  'a percentage above 0, up to 100': { takes: [0.1, 50, 100], refuses: [0, -1, 100.1, ...noNumbers] },
  'a finite number, at least 1': { takes: [1, 1.5, 10], refuses: [0.9, Infinity, ...noNumbers] },
  "`'full'`, `'equal'` or `'none'`": { takes: ['full', 'equal', 'none'], refuses: ['half', 5, null] },
  "`'count'` or `'time'`": { takes: ['count', 'time'], refuses: ['calls', 5, null] },
  'backoff options, or a function': { takes: [{}, { delay: 1 }, () => 5], refuses: ['100ms', 5, [], { dela: 1 }] },
  'window options': {
    takes: [
      { type: 'count', size: 10 },
      { type: 'time', size: '10s' },
    ],
    refuses: [{}, 20, 'count', { type: 'count' }],
  },
  "with `'count'` a whole number from 1 to 10,000,000, with `'time'` a duration above 0": {
    takes: [1, 10_000_000],
    refuses: [0, 1.5, 10_000_001, '10s', ...noNumbers],
    beside: { type: 'count' },
  },
  'options of a growing open time': { takes: [{}, { factor: 3 }], refuses: [2, '5m', { factr: 2 }] },
  'field defaults of stages': { takes: [{}, { timeout: '5s' }], refuses: ['5s', { timeOut: '5s' }, { fallback: 1 }] },
  'names of headers that carry a deadline': {
    takes: [[], ['x-request-timeout-ms'], ['Grpc-Timeout', 'connect-timeout-ms', 'x-envoy-expected-rq-timeout-ms']],
    refuses: ['x-request-timeout-ms', ['x-timeout'], [5], {}, [null]],
  },
  "`'safe'`, `'always'` or `'never'`": { takes: ['safe', 'always', 'never'], refuses: ['unsafe', true, null] },
  'what partial responses say': {
    takes: [{}, { header: 'X-Missing', cacheControl: 'no-cache', serverTiming: true }],
    refuses: ['no-store', { headers: 'X-Missing' }, { header: 'X Missing' }, { serverTiming: 1 }],
  },
  'the name of a header': { takes: ['X-Missing'], refuses: ['', 'X Missing', 'X-Missing:', 'ETag', 5, null] },
  'directives for caches': {
    takes: ['no-store', 'max-age=0, must-revalidate'],
    refuses: ['', 'no-store\nX-Other: 1', 5, null],
  },
  'an `AbortSignal`': { takes: [new AbortController().signal], refuses: [{}, 'x', 5, null] },
  'a whole number, up to how many sections there are': { takes: [0, 1], refuses: [-1, 0.5, 2, Infinity, ...noNumbers] },
  "`'cancel'` or `'settle'`": { takes: ['cancel', 'settle'], refuses: ['wait', 5, null] },
  'a header token': { takes: ['reviews', 'x.y_z'], refuses: ['', '*', 'a b', 'a;b', 5, null] },
  'a duration above 0, or `adaptive()`': {
    takes: [0.5, '1ms', '1w', adaptive()],
    refuses: [0, '0s', anything, ...noDurations],
  },
  'a policy': { takes: [new TimeoutPolicy(1)], refuses: [{}, 'carrier', null] },
  'sections by their names': {
    takes: [{}, { product: required(anything) }],
    refuses: [5, { product: anything }, { signal: required(anything) }, null],
  },
  "`'closed'`": { takes: ['closed'], refuses: ['open', true, null] },
  "`'open'`": { takes: ['open'], refuses: ['closed', true, null] },
  'a whole number from 400 to 599': { takes: [400, 599], refuses: [399, 600, 500.5, ...noNumbers] },
  'a value, or a function of the error': { takes: [null, [], anything], refuses: [] },
  'a place of keys, or one for each kind of call': {
    takes: [
      { header: 'X-Id' },
      { arg: 'order.key' },
      { payload: 'id' },
      anything,
      { http: { header: 'X-Id' }, rpc: anything },
    ],
    refuses: ['X-Id', 5, {}, { header: '' }, { arg: 'a..b' }, { headers: 'X-Id' }, { http: 5 }],
  },
  'whose keys they are': {
    takes: [anything, false, { http: anything, rpc: false }],
    refuses: ['user', true, { htp: anything }, { http: 'user' }],
  },
  "`'reject'` or `'wait'`": { takes: ['reject', 'wait'], refuses: ['queue', true, 5] },
  "`'fail'` or `'run'`": { takes: ['fail', 'run'], refuses: ['skip', true, 5] },
  'a number of at least 1, or `Infinity`': { takes: [1, 1.5, Infinity], refuses: [0, -1, ...noNumbers] },
  'the name of any header': { takes: ['X-Key'], refuses: ['', 'X Key', 'X-Key:', 5] },
  'names of headers that may be replayed': {
    takes: [[], ['X-Total']],
    refuses: ['X-Total', ['Set-Cookie'], ['date'], [5], {}],
  },
  'keys to seal with': {
    takes: [{ keys: ['k'.repeat(32)] }, { keys: [Buffer.alloc(32, 1), 'k'.repeat(32)] }],
    refuses: ['k'.repeat(32), {}, { keys: [] }, { keys: ['k'.repeat(31)] }, { keys: [Buffer.alloc(31, 1)] }],
  },
  '`true`, `false` or `{ type }`': {
    takes: [true, false, { type: 'https://shop.example/errors' }],
    refuses: ['https://shop.example/errors', {}, { typ: 'x' }, 5],
  },
  'the name of a table': { takes: ['keys', 'Keys_2'], refuses: ['', 'app.keys', 'a b', '2', 5, null] },
  'the name of a schema': { takes: ['app'], refuses: ['', 'a.b', 5, null] },
  'a whole number, at least 1, or `false`': {
    takes: [1, 10, false],
    refuses: [0, -1, 1.5, Number.NaN, '3', null, true],
  },
  'a text without braces': { takes: ['shop:'], refuses: ['', 'a{b', 'a}', 5] },
  'stages by name': { takes: [{}, { carrier: { retry: 2 } }], refuses: ['carrier', { carrier: { retries: 2 } }] },
};

/** The value of a cell that is nothing but code, such as `'30s'` or `{ type: 'count', size: 20 }`. */
export function literalOf(cell: string): { readonly value: unknown } | undefined {
  const code = /^`([^`]+)`$/.exec(cell)?.[1];
  if (code === undefined) return undefined;

  const json = code.replaceAll("'", '"').replaceAll(/([a-zA-Z]+):/g, '"$1":');
  return { value: JSON.parse(json) as unknown };
}
