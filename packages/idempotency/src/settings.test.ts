import { describe, expect, it } from 'vitest';
import type { IdempotencyModuleOptions, IdempotentOptions } from './idempotency.options.js';
import { mergeOptions, readHandlerOptions, readModuleSettings, settingFor } from './settings.js';

const read = (options: object): unknown => readHandlerOptions(options as IdempotentOptions);
const readModule = (options: unknown): unknown => readModuleSettings(options as IdempotencyModuleOptions);

function messageOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError);
    return (error as Error).message;
  }
  throw new Error('Expected a TypeError');
}

describe('Without options', () => {
  it('a handler has these', () => {
    const settings = mergeOptions(readHandlerOptions({}));

    expect(settings).toEqual({
      required: false,
      ttl: 86_400_000,
      lockTtl: 60_000,
      maxLockHold: 3_600_000,
      retryAfter: 1_000,
      storeIf: expect.any(Function),
      storePartial: true,
      onInFlight: 'reject',
      maxWait: 10_000,
      onStoreError: 'fail',
      maxBodySize: Infinity,
    });
  });

  it.each([
    [200, true],
    [302, true],
    [400, true],
    [404, true],
    [408, false],
    [409, false],
    [422, true],
    [423, false],
    [425, false],
    [429, false],
    [499, true],
    [500, false],
    [503, false],
  ])('an outcome of status %i is kept: %s', (status, isKept) => {
    expect(mergeOptions().storeIf(status)).toBe(isKept);
  });

  it('an application has these', () => {
    expect(readModule({})).toEqual({
      handlers: {},
      header: 'idempotency-key',
      replayHeaders: [],
      encryption: undefined,
      allowInMemoryStorage: false,
      storeTimeoutMs: 10_000,
      shutdownGraceMs: 5_000,
      exposeKeys: false,
      problemType: undefined,
    });
  });
});

describe('Levels', () => {
  it('win from left to right, field by field, and a field that is undefined says nothing', () => {
    const module = readHandlerOptions({ ttl: 1, lockTtl: 2, retryAfter: 3 });
    const ofClass = readHandlerOptions({ ttl: 4, lockTtl: undefined, required: true });
    const handler = readHandlerOptions({ ttl: undefined, retryAfter: 5, required: false });

    expect(mergeOptions(module, undefined, ofClass, handler)).toMatchObject({
      ttl: 4,
      lockTtl: 2,
      retryAfter: 5,
      required: false,
    });
  });

  it('of the module take a scope that a handler turns off', () => {
    const scope = (): string => 'a';

    expect(mergeOptions(readHandlerOptions({ scope }), readHandlerOptions({ scope: false })).scope).toBe(false);
  });
});

const POSITIVE = ['ttl', 'lockTtl', 'maxLockHold'] as const;
const ANY = ['retryAfter', 'maxWait'] as const;

describe.each([...POSITIVE, ...ANY])('%s', (name) => {
  it.each([
    [1, 1],
    [0.2, 1],
    [1_000 / 3, 334],
    ['1.5ms', 2],
    ['1.1s', 1_100],
    ['2m', 120_000],
    ['1h', 3_600_000],
    ['30d', 2_592_000_000],
    ['1w', 604_800_000],
    [2 ** 31, 2 ** 31],
    [8.64e15, 8.64e15],
  ])('of %s is %i whole milliseconds', (given, expected) => {
    expect(read({ [name]: given })).toEqual({ [name]: expected });
  });

  it.each(['-1s', '1 s', '1S', '1y', 's', '', '1e3ms', '.5s', '5', NaN, Infinity, -1, -0.1, null, true, {}, [], 5n])(
    'of %s is refused with its place and a remedy',
    (given) => {
      expect(messageOf(() => read({ [name]: given }))).toMatch(new RegExp(`^${name}: Invalid duration .*'250ms'`));
    },
  );

  it.each([8.64e15 + 2, Number.MAX_VALUE, '99999999999999999999w'])(
    'of %s is no time that a store could add',
    (given) => {
      expect(messageOf(() => read({ [name]: given }))).toMatch(
        new RegExp(`^${name}: expected at most 8640000000000000ms, got .*'3650d' is ten years\\.$`),
      );
    },
  );
});

describe('Zero', () => {
  it.each(POSITIVE)('is refused for %s: it is not "for ever"', (name) => {
    for (const zero of [0, '0s', '0ms']) {
      expect(messageOf(() => read({ [name]: zero }))).toMatch(new RegExp(`^${name}: .*greater than 0`));
    }
  });

  it.each(ANY)('is legal for %s', (name) => {
    expect(read({ [name]: 0 })).toEqual({ [name]: 0 });
  });
});

describe('What is true or false', () => {
  it.each(['required', 'storePartial'])('as %s takes nothing else', (name) => {
    expect(read({ [name]: false })).toEqual({ [name]: false });
    for (const given of ['true', 1, 0, null, {}]) {
      expect(messageOf(() => read({ [name]: given }))).toMatch(new RegExp(`^${name}: expected true or false, got `));
    }
  });

  it.each(['allowInMemoryStorage', 'exposeKeys'])('as %s of the module takes nothing else', (name) => {
    expect(readModule({ [name]: true })).toMatchObject({ [name]: true });
    for (const given of ['true', 1, null]) {
      expect(messageOf(() => readModule({ [name]: given }))).toMatch(new RegExp(`^${name}: expected true or false`));
    }
  });
});

describe('Choices', () => {
  it.each([
    ['onInFlight', 'wait', "'reject', 'wait'"],
    ['onStoreError', 'run', "'fail', 'run'"],
  ])('of %s are few', (name, legal, list) => {
    expect(read({ [name]: legal })).toEqual({ [name]: legal });
    expect(messageOf(() => read({ [name]: 'other' }))).toBe(`${name}: expected one of ${list}, got "other".`);
  });

  it('of maxBodySize are numbers from 1 on', () => {
    for (const legal of [1, 1.5, 1_048_576, Infinity]) {
      expect(read({ maxBodySize: legal })).toEqual({ maxBodySize: legal });
    }
    for (const given of [0, 0.9, -1, NaN, '1mb', null]) {
      expect(messageOf(() => read({ maxBodySize: given }))).toMatch(/^maxBodySize: expected a number of bytes/);
    }
  });

  it.each(['fingerprint', 'storeIf'])('of %s are functions', (name) => {
    const given = (): boolean => true;
    expect(read({ [name]: given })).toEqual({ [name]: given });
    expect(messageOf(() => read({ [name]: 'body' }))).toBe(`${name}: expected a function, got "body".`);
  });
});

describe('keyFrom', () => {
  const find = (): string => 'k';

  it.each([
    [{ header: 'X-Request-Id' }, { header: 'x-request-id' }],
    [{ arg: 'input.key' }, { arg: 'input.key' }],
    [{ payload: 'id' }, { payload: 'id' }],
    [find, find],
    [
      { http: { header: 'A' }, rpc: find, graphql: undefined },
      { http: { header: 'a' }, rpc: find },
    ],
    [{ header: 'a', arg: undefined }, { header: 'a' }],
  ])('may be %j', (given, expected) => {
    expect(read({ keyFrom: given })).toEqual({ keyFrom: expected });
  });

  it.each<[unknown, RegExp]>([
    ['header', /^keyFrom: expected an options object, got a string\. Use \{ header/],
    [null, /^keyFrom: expected an options object/],
    [{}, /^keyFrom: expected one place where keys are/],
    [{ header: 'a', arg: 'b' }, /^keyFrom: expected one place where keys are/],
    [{ headers: 'a' }, /^keyFrom\.headers: unknown option.*Did you mean "header"\?/],
    [{ header: 'a b' }, /^keyFrom\.header: expected the name of a header/],
    [{ header: '' }, /^keyFrom\.header: expected the name of a header/],
    [{ arg: 'a..b' }, /^keyFrom\.arg: expected names with a dot between them/],
    [{ payload: 5 }, /^keyFrom\.payload: expected a name/],
    [{ http: { header: 'a' }, ws: find }, /^keyFrom\.ws: unknown option/],
    [{ http: 'a' }, /^keyFrom\.http: expected an options object/],
    [{ http: { header: 'a' }, header: 'b' }, /^keyFrom\.header: unknown option/],
  ])('is refused as %j', (given, message) => {
    expect(messageOf(() => read({ keyFrom: given }))).toMatch(message);
  });
});

describe('scope', () => {
  const scope = (): string => 'a';

  it.each([false, scope, { http: scope, graphql: false, rpc: undefined }, {}])('may be %j', (given) => {
    expect(read({ scope: given })).toEqual({ scope: given });
  });

  it.each<[unknown, RegExp]>([
    [true, /^scope: expected an options object, got a boolean\. Use a function, false, or/],
    ['user', /^scope: expected an options object, got a string/],
    [{ http: true }, /^scope\.http: expected a function, got true/],
    [{ htpp: scope }, /^scope\.htpp: unknown option.*Did you mean "http"\?/],
  ])('is refused as %j', (given, message) => {
    expect(messageOf(() => read({ scope: given }))).toMatch(message);
  });
});

describe('Options of the module', () => {
  it.each([
    ['storeTimeout', 'storeTimeoutMs'],
    ['shutdownGrace', 'shutdownGraceMs'],
  ])('%s is rounded up, and ends where timers do', (name, field) => {
    expect(readModule({ [name]: 0.5 })).toMatchObject({ [field]: 1 });
    expect(readModule({ [name]: 2 ** 31 - 1 })).toMatchObject({ [field]: 2 ** 31 - 1 });
    expect(readModule({ [name]: '52w' })).toMatchObject({ [field]: 2 ** 31 - 1 });
    expect(messageOf(() => readModule({ [name]: 'soon' }))).toMatch(new RegExp(`^${name}: Invalid duration "soon"`));
  });

  it('a store that is asked must be given time, and a shutdown need not wait', () => {
    expect(messageOf(() => readModule({ storeTimeout: 0 }))).toMatch(/^storeTimeout: .*greater than 0/);
    expect(readModule({ shutdownGrace: 0 })).toMatchObject({ shutdownGraceMs: 0 });
  });

  it.each(['header'])('%s is a name, looked up in lower case', (name) => {
    expect(readModule({ [name]: 'X-Idem' })).toMatchObject({ [name]: 'x-idem' });
    for (const given of ['', 'a b', 'a:', 5, null]) {
      expect(messageOf(() => readModule({ [name]: given }))).toMatch(/^header: expected the name of a header, got /);
    }
  });

  it.each([
    'set-cookie',
    'Content-Length',
    'TRANSFER-ENCODING',
    'connection',
    'keep-alive',
    'upgrade',
    'trailer',
    'te',
    'Date',
  ])('replayHeaders never hold %s', (name) => {
    expect(messageOf(() => readModule({ replayHeaders: ['x-a', name] }))).toBe(
      `replayHeaders[1]: "${name.toLowerCase()}" belongs to one answer only and is never replayed. Leave it out.`,
    );
  });

  it('replayHeaders are names in lower case', () => {
    expect(readModule({ replayHeaders: ['X-A', 'x-b'] })).toMatchObject({ replayHeaders: ['x-a', 'x-b'] });
    for (const given of [null, 'x-a', { 0: 'x-a' }]) {
      expect(messageOf(() => readModule({ replayHeaders: given }))).toMatch(/^replayHeaders: expected an array/);
    }
    expect(messageOf(() => readModule({ replayHeaders: [5] }))).toMatch(/^replayHeaders\[0\]: expected the name/);
  });

  it('problemDetails is true, false, or where the errors are documented', () => {
    expect(readModule({ problemDetails: true })).toMatchObject({ problemType: expect.stringMatching(/^https:/) });
    expect(readModule({ problemDetails: { type: 'https://a.example' } })).toMatchObject({
      problemType: 'https://a.example',
    });
    for (const [given, message] of [
      [null, /^problemDetails: expected an options object/],
      [{}, /^problemDetails\.type: expected a name/],
      [{ typ: 'a' }, /^problemDetails\.typ: unknown option.*Did you mean "type"\?/],
    ] as const) {
      expect(messageOf(() => readModule({ problemDetails: given }))).toMatch(message);
    }
  });

  it('stand on one level with those of handlers', () => {
    expect(readModule({ ttl: '1h', required: true })).toMatchObject({ handlers: { ttl: 3_600_000, required: true } });
  });
});

describe('What is in the wrong place', () => {
  it.each([undefined, null, 5, 'text', [], () => ({})])('%s in place of options is refused', (given) => {
    expect(messageOf(() => readModule(given))).toMatch(/^expected an options object, got .*a factory has to return/);
    expect(messageOf(() => read(given as never))).toMatch(/^expected an options object, got /);
  });

  it.each(['isGlobal', 'imports'])('%s in what a factory returns is told where it goes', (name) => {
    expect(messageOf(() => readModule({ [name]: undefined }))).toMatch(
      new RegExp(`^${name}: it has no effect in what a factory returns.*forRootAsync`),
    );
  });

  it('a store as an option is told how it is registered', () => {
    expect(messageOf(() => readModule({ store: {} }))).toMatch(/^store: .*registerSource\(this\)/);
  });

  it.each([
    'header',
    'encryption',
    'storeTimeout',
    'shutdownGrace',
    'exposeKeys',
    'allowInMemoryStorage',
    'problemDetails',
  ])('the module option %s on a handler is refused', (name) => {
    expect(messageOf(() => read({ [name]: 1 }))).toMatch(new RegExp(`^${name}: unknown option\\.`));
  });

  it.each([
    ['lockTTL', 'lockTtl'],
    ['lockTimeout', undefined],
    ['keyfrom', 'keyFrom'],
    ['storeif', 'storeIf'],
    ['encryptionKey', 'encryption'],
    ['encryptionKeys', 'encryption'],
  ])('the unknown option %s is refused, and what was given never shown', (name, nearest) => {
    const message = messageOf(() => readModule({ [name]: 'correct horse battery staple' }));

    expect(message).toContain(`${name}: unknown option.`);
    expect(message).not.toContain('horse');
    if (nearest !== undefined) expect(message).toContain(`Did you mean "${nearest}"?`);
  });

  it('a secret in place of the options is not shown', () => {
    expect(messageOf(() => readModule('correct horse'))).not.toContain('horse');
    expect(messageOf(() => read('correct horse' as never))).not.toContain('horse');
  });
});

describe('Hostile options', () => {
  it('are read once', () => {
    let reads = 0;
    const options = {
      get ttl(): unknown {
        reads += 1;
        return reads === 1 ? 5 : 'not a duration';
      },
    };

    expect(read(options)).toEqual({ ttl: 5 });
    expect(reads).toBe(1);
  });

  it('that throw, throw', () => {
    const error = new Error('hostile');
    const options = {
      get ttl(): never {
        throw error;
      },
    };

    expect(() => read(options)).toThrow(error);
  });

  it('that are inherited are refused, since copies would lose them', () => {
    class Options {
      get ttl(): string {
        return '1h';
      }
    }

    expect(messageOf(() => read(new Options()))).toMatch(/^ttl: is inherited/);
    expect(messageOf(() => readModule(Object.create({ header: 'a' })))).toMatch(/^header: is inherited/);
  });

  it('without a prototype are options like any other', () => {
    expect(read(Object.assign(Object.create(null) as object, { ttl: 1 }))).toEqual({ ttl: 1 });
  });

  it('are not written to, and may change afterwards', () => {
    const scope = { http: (): string => 'a' };
    const given = Object.freeze({ ttl: '1h', scope });
    const settings = readHandlerOptions(given as IdempotentOptions);
    Object.assign(scope, { http: false });

    expect(typeof (settings.scope as { http: unknown }).http).toBe('function');
  });

  it('named __proto__ are unknown', () => {
    expect(messageOf(() => read(JSON.parse('{"__proto__": {"ttl": 1}}') as object))).toMatch(
      /^__proto__: unknown option/,
    );
  });
});

describe('A setting for one kind of call', () => {
  it.each<[unknown, unknown]>([
    [undefined, undefined],
    [false, false],
    [{ header: 'a' }, { header: 'a' }],
    [{ http: false, rpc: 1 }, false],
    [{ rpc: 1 }, undefined],
    [{}, undefined],
  ])('of %j is %j', (setting, expected) => {
    expect(settingFor(setting, 'http')).toEqual(expected);
  });
});
