import { describe, expect, it } from 'vitest';
import { RetryPolicy } from '../index.js';
import { declaredSection, isSection, optional, required, type RequiredOptions } from './section.js';

const run = (): number => 1;
const declare = (options: unknown): unknown => optional(run, options as { fallback: null });
const declareRequired = (options: unknown): unknown => required(run, options as object);

describe('the options of every section', () => {
  it.each<[string, object, RegExp]>([
    ['a negative timeout', { timeout: -1 }, /^timeout: Invalid duration -1/],
    ['a timeout that is no number', { timeout: NaN }, /^timeout: Invalid duration NaN.*environment variable/],
    ['a timeout without end', { timeout: Infinity }, /^timeout: Invalid duration Infinity/],
    ['a timeout of nothing', { timeout: 0 }, /^timeout: .*greater than 0/],
    ['a timeout without unit', { timeout: '300' }, /^timeout: .*'300ms'/],
    ['a malformed timeout', { timeout: '3 seconds' }, /^timeout: Invalid duration "3 seconds"/],
    ['a timeout that is null', { timeout: null }, /^timeout: Invalid duration null/],
    ['a timeout for each attempt', { timeout: () => 5 }, /^timeout: expected a duration or adaptive\(\), got function/],
    ['a negative reserve', { reserve: -5 }, /^reserve: Invalid duration -5/],
    ['a malformed reserve', { reserve: 'much' }, /^reserve: Invalid duration "much"/],
    ['a name with a space', { name: 'my reviews' }, /^name: "my reviews" is no name for a section/],
    ['an empty name', { name: '' }, /^name: "" is no name/],
    ['a name that breaks a header', { name: 'a\r\nset-cookie: b' }, /^name: .* is no name/],
    ['a name beyond ASCII', { name: 'überblick' }, /^name: "überblick" is no name/],
    ['the name of the whole answer', { name: '*' }, /^name: "\*" is no name/],
    ['a policy that is its options', { policy: { retry: 2 } }, /^policy: expected a policy, got an object/],
    ['a word for idempotent', { idempotent: 'yes' }, /^idempotent: expected true or false, got "yes"/],
    [
      'a repetition beside a policy',
      { idempotent: true, policy: new RetryPolicy() },
      /^idempotent: a policy says itself/,
    ],
    ['a misspelt option', { timeoutMs: 5 }, /^timeoutMs: unknown option. Did you mean "timeout"\?/],
    ['an after that is a section', { after: [required(run)] }, /^after: expected an options object, got an array/],
    ['an after with a function', { after: { product: run } }, /^after\.product: expected a section, got function run/],
    ['an after that hides the signal', { after: { signal: required(run) } }, /^after\.signal: the attempt has/],
  ])('refuse %s', (_what, options, message) => {
    expect(() => declare({ fallback: null, ...options })).toThrow(message);
    expect(() => declareRequired(options)).toThrow(message);
    expect(() => declareRequired(options)).toThrow(TypeError);
  });

  it.each([null, 'a string', 7, []])('are an object, and not %j', (options) => {
    expect(() => declare(options)).toThrow(
      /^expected an options object, got .+\. Use { timeout: '300ms', fallback: null }\.$/,
    );
    expect(() => declareRequired(options)).toThrow(/^expected an options object, got .+\. Use { timeout: '300ms' }\.$/);
  });

  it.each<[string, object, string]>([
    [
      'a limit for each attempt belongs to a policy',
      { timeout: () => 5 },
      'timeout: expected a duration or adaptive(), got function timeout. The limit is that of all attempts together; for ' +
        'one of the attempt give the section a policy.',
    ],
    [
      'a policy repeats by its own retry',
      { idempotent: true, policy: new RetryPolicy() },
      'idempotent: a policy says itself what it repeats. Give the policy a retry instead.',
    ],
    [
      'sections to come after stand under names',
      { after: 'product' },
      'after: expected an options object, got a string. Use { product }, with a section made by required() or optional().',
    ],
    [
      'what to come after is made',
      { after: { product: 5 } },
      'after.product: expected a section, got 5. Make it with required() or optional().',
    ],
    ...['signal', 'attempt', 'deadline'].map((key): [string, object, string] => [
      `the attempt has its own ${key}`,
      { after: { [key]: required(run) } },
      `after.${key}: the attempt has a property of this name. Use another one.`,
    ]),
  ])('are refused with what to do instead: %s', (_what, options, message) => {
    expect(() => declare({ fallback: null, ...options })).toThrow(message);
    expect(() => declareRequired(options)).toThrow(message);
  });

  it('have defaults: one attempt, and no name, limit, reserve, policy or order', () => {
    const settings = {
      run,
      name: undefined,
      timeout: undefined,
      reserveMs: undefined,
      policy: undefined,
      idempotent: false,
      after: undefined,
      fallback: undefined,
      status: undefined,
      retryAfterMs: undefined,
    };

    expect(required(run).settings).toEqual({ ...settings, isRequired: true });
    expect(optional(run, { fallback: null }).settings).toEqual({ ...settings, isRequired: false, fallback: null });
  });

  it('that are undefined are those that are missing', () => {
    const nothing = {
      name: undefined,
      timeout: undefined,
      reserve: undefined,
      policy: undefined,
      idempotent: undefined,
    };
    const ofRequired = { ...nothing, after: undefined, onFailure: undefined, status: undefined, retryAfter: undefined };

    expect(required(run, ofRequired).settings).toEqual(required(run).settings);
  });

  it('may say beside a policy that nothing else repeats the section', () => {
    const policy = new RetryPolicy();

    expect(required(run, { policy, idempotent: false }).settings).toMatchObject({ policy, idempotent: false });
    expect(required(run, { idempotent: true }).settings).toMatchObject({ policy: undefined, idempotent: true });
  });

  it('are read once: what becomes of the object afterwards changes no order', () => {
    const product = required(run);
    const after: Record<string, typeof product> = { product };
    const { settings } = required(run, { after });
    after['late'] = required(run);

    expect(settings.after).toEqual({ product });
  });

  it('say nothing with an order of nothing', () => {
    expect(required(run, { after: {} }).settings.after).toBeUndefined();
  });

  it('stand in the object itself, and are left as they are', () => {
    class Inherited {
      get timeout(): number {
        return 5;
      }
    }
    expect(() => declareRequired(new Inherited())).toThrow(/^timeout: is inherited/);

    const options = Object.freeze({ name: 'catalog', timeout: 5, after: Object.freeze({}) });
    expect(() => declareRequired(options)).not.toThrow();
  });
});

describe('a section that fails closed', () => {
  it.each<[object, RegExp]>([
    [{ status: 399 }, /^status: expected a whole number of at least 400 and at most 599, got 399/],
    [{ status: 600 }, /^status: /],
    [{ status: '503' }, /^status: .*got "503"/],
    [{ retryAfter: 0 }, /^retryAfter: .*greater than 0/],
    [{ retryAfter: 'soon' }, /^retryAfter: Invalid duration "soon"/],
    [
      { fallback: null },
      /^fallback: nothing stands in for a required section, given null. Use optional\(\), or onFailure: 'open' in a declaration\.$/,
    ],
    [{ onFailure: 'open' }, /^onFailure: expected 'closed' here, got "open". Use optional\(\) for that\.$/],
  ])('refuses %j', (options, message) => {
    expect(() => declareRequired(options)).toThrow(message);
  });

  it('has the status and the time to come back that it was given', () => {
    const settings = (options: RequiredOptions): object => required(run, options).settings;

    expect(settings({ status: 400, retryAfter: '5s' })).toMatchObject({ status: 400, retryAfterMs: 5_000 });
    expect(settings({ status: 599, retryAfter: 1 })).toMatchObject({ status: 599, retryAfterMs: 1 });
  });

  it('needs a function', () => {
    expect(() => required(Promise.resolve(1) as never)).toThrow(/^run: expected a function, got an object/);
  });
});

describe('a section that fails open', () => {
  it('says what stands in for it, be that undefined', () => {
    expect(() => declare({ timeout: 5 })).toThrow(
      'fallback: is missing. Say what stands in for the section, such as null or [].',
    );
    expect(() => optional<number | undefined, undefined>(run, { fallback: undefined })).not.toThrow();
  });

  it.each<[object, RegExp]>([
    [{ status: 503 }, /^status: unknown option/],
    [{ onFailure: 'closed' }, /^onFailure: expected 'open' here, got "closed". Use required\(\) for that\.$/],
  ])('refuses %j', (options, message) => {
    expect(() => declare({ fallback: null, ...options })).toThrow(message);
  });

  it('needs a function', () => {
    expect(() => optional(undefined as never, { fallback: null })).toThrow(/^run: expected a function, got undefined/);
  });
});

describe('a section that is declared as data', () => {
  it.each<[string, unknown, RegExp]>([
    [
      'nothing',
      undefined,
      /^expected an options object, got undefined. Use { name: 'flags', timeout: '250ms', onFailure: 'open', fallback: {} }\.$/,
    ],
    ['no direction', { name: 'flags' }, /^onFailure: expected one of 'open', 'closed', got undefined/],
    ['another direction', { name: 'flags', onFailure: 'shut' }, /^onFailure: .*got "shut"/],
    ['no name', { onFailure: 'closed' }, /^name: undefined is no name/],
    ['no fallback where it fails open', { name: 'flags', onFailure: 'open' }, /^fallback: is missing/],
    [
      'a fallback where it fails closed',
      { name: 'a', onFailure: 'closed', fallback: 1 },
      /^fallback: .*given 1\. .*'open'/,
    ],
  ])('refuses %s', (_what, declaration, message) => {
    expect(() => declaredSection(declaration as never, run)).toThrow(message);
  });

  it('is a section as those made by hand are', () => {
    const { settings } = declaredSection({ name: 'gate', timeout: '200ms', onFailure: 'closed', status: 503 }, run);

    expect(settings).toMatchObject({ name: 'gate', timeout: 200, isRequired: true, status: 503 });
  });
});

describe('what is a section', () => {
  it('is told by its shape, so that one of another copy of the package is one', () => {
    expect(isSection(required(run))).toBe(true);
    expect(isSection({ settings: { run } })).toBe(true);
    expect([undefined, null, 1, {}, run, { settings: null }].filter(isSection)).toEqual([]);
  });
});
