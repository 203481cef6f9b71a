import { describe, expect, it } from 'vitest';
import {
  decision,
  editDistance,
  nearestName,
  OptionError,
  refuseInherited,
  rejectUnknown,
  requireBoolean,
  requireCount,
  requireFactor,
  requireFunction,
  requireName,
  requireObject,
  requireOneOf,
  requirePercentage,
  show,
  withPath,
} from './options.js';

const NO_NUMBERS = [undefined, null, '5', true, [], {}, 5n];

describe('an error about an option', () => {
  it('is a TypeError, also by its name', () => {
    const error = new OptionError('retry.attempts', 'expected a number.');

    expect(error).toBeInstanceOf(TypeError);
    expect(error.name).toBe('TypeError');
    expect(String(error)).toBe('TypeError: retry.attempts: expected a number.');
  });

  it('has a path that grows from the inside out', () => {
    const read = (): never =>
      withPath('presets.carrier', () =>
        withPath('retry', () => {
          throw new OptionError('attempts', 'expected a number.');
        }),
      );

    expect(read).toThrow(/^presets\.carrier\.retry\.attempts: expected a number\.$/);
  });

  it('of a lone value has nothing in front but the place', () => {
    expect(new OptionError('', 'wrong.').message).toBe('wrong.');
    expect(new OptionError('', 'wrong.').under('timeout').message).toBe('timeout: wrong.');
    expect(new OptionError('size', 'wrong.').under('').message).toBe('size: wrong.');
  });

  it('is the only kind of error that is given a place', () => {
    const other = new RangeError('of another kind');

    expect(() =>
      withPath('retry', () => {
        throw other;
      }),
    ).toThrow(other);
    expect(other.message).toBe('of another kind');
  });
});

describe('a whole number', () => {
  it.each([1, 2, 1e15])('of at least 1 may be %d', (value) => {
    expect(requireCount(value, 'attempts', { min: 1 })).toBe(value);
  });

  it.each([0, -1, 1.5, NaN, -Infinity, Infinity, ...NO_NUMBERS])('of at least 1 cannot be %s', (value) => {
    expect(() => requireCount(value, 'attempts', { min: 1 })).toThrow(TypeError);
    expect(() => requireCount(value, 'attempts', { min: 1 })).toThrow(
      `attempts: expected a whole number of at least 1, got ${show(value)}.`,
    );
  });

  it('that is NaN or undefined may come from a variable that is not set', () => {
    const question = 'Does it come from an environment variable that is not set?';
    for (const unset of [NaN, undefined]) {
      expect(() => requireCount(unset, 'attempts', { min: 1 })).toThrow(`got ${unset}. ${question}`);
      expect(() => requirePercentage(unset, 'failureRateThreshold')).toThrow(`got ${unset}. ${question}`);
      expect(() => requireFactor(unset, 'factor')).toThrow(`got ${unset}. ${question}`);
    }
    expect(() => requireCount(0, 'attempts', { min: 1 })).toThrow(/got 0\.$/);
    expect(() => requireCount(Object.create(null), 'attempts', { min: 1 })).toThrow(/got an object\.$/);
  });

  it('is Infinity only where that is legal', () => {
    expect(requireCount(Infinity, 'attempts', { min: 1, infinite: true })).toBe(Infinity);
    expect(() => requireCount(-Infinity, 'attempts', { min: 1, infinite: true })).toThrow(TypeError);
    expect(() => requireCount(NaN, 'attempts', { min: 1, infinite: true })).toThrow(/or Infinity, got NaN/);
  });

  it('has an upper bound where one is given', () => {
    expect(requireCount(10, 'size', { min: 1, max: 10 })).toBe(10);
    expect(() => requireCount(11, 'size', { min: 1, max: 10 })).toThrow(/at most 10, got 11/);
  });
});

describe('a percentage', () => {
  it.each([0.1, 50, 100])('may be %d', (value) => {
    expect(requirePercentage(value, 'failureRateThreshold')).toBe(value);
  });

  it.each([0, -1, 100.1, NaN, Infinity, ...NO_NUMBERS])('cannot be %s', (value) => {
    expect(() => requirePercentage(value, 'failureRateThreshold')).toThrow(/^failureRateThreshold: .*, got /);
    expect(() => requirePercentage(value, 'failureRateThreshold')).toThrow(TypeError);
  });
});

describe('a factor', () => {
  it.each([1, 1.5, 10])('may be %d', (value) => {
    expect(requireFactor(value, 'factor')).toBe(value);
  });

  it.each([0.99, 0, -2, NaN, Infinity, ...NO_NUMBERS])('cannot be %s', (value) => {
    expect(() => requireFactor(value, 'factor')).toThrow(/^factor: .*, got /);
    expect(() => requireFactor(value, 'factor')).toThrow(TypeError);
  });
});

describe('other kinds of options', () => {
  it('a switch is true or false and nothing that is like it', () => {
    expect(requireBoolean(true, 'retryAfter')).toBe(true);
    expect(requireBoolean(false, 'retryAfter')).toBe(false);
    for (const value of [undefined, null, 0, 1, 'false', '']) {
      expect(() => requireBoolean(value, 'retryAfter')).toThrow(/^retryAfter: expected true or false, got /);
    }
  });

  it('a choice is one of those that are named', () => {
    expect(requireOneOf('none', 'jitter', ['full', 'none'])).toBe('none');
    expect(() => requireOneOf('None', 'jitter', ['full', 'none'])).toThrow(
      /^jitter: expected one of 'full', 'none', got "None"\.$/,
    );
  });

  it('a name is a text that is not empty', () => {
    expect(requireName('carrier', 'name')).toBe('carrier');
    for (const value of ['', 5, null, {}]) {
      expect(() => requireName(value, 'name')).toThrow(/^name: expected a name/);
    }
  });

  it('a function is a function', () => {
    expect(requireFunction(show, 'retryIf')).toBe(show);
    expect(() => requireFunction('show', 'retryIf')).toThrow(/^retryIf: expected a function, got "show"\.$/);
  });

  it('options are an object, and an array is none', () => {
    expect(() => requireObject({}, '', '')).not.toThrow();
    for (const value of [undefined, null, 5, 'x', [], () => 1]) {
      expect(() => requireObject(value, 'retry', 'Use { attempts: 3 }.')).toThrow(
        /^retry: expected an options object, got .* Use \{ attempts: 3 \}\.$/,
      );
    }
  });

  it('are refused without what was given in their place, which may be a secret', () => {
    expect(() => requireObject('postgres://shop:secret@db', '', 'Use { table }.')).toThrow(
      /^expected an options object, got a string\. Use \{ table \}\.$/,
    );
  });
});

describe('an unknown option', () => {
  const known = ['name', 'attempts', 'backoff', 'retryIf'];

  it.each([
    ['atempts', 'attempts'],
    ['Attempts', 'attempts'],
    ['maxAttempts', 'attempts'],
    ['retryif', 'retryIf'],
    ['backoffOptions', 'backoff'],
  ])('%s is refused with the nearest known name', (key, nearest) => {
    expect(() => rejectUnknown({ [key]: 3 }, known)).toThrow(`${key}: unknown option. Did you mean "${nearest}"?`);
  });

  it('like nothing that is known is refused with all that is', () => {
    expect(() => rejectUnknown({ colour: 'red' }, known, 'retry')).toThrow(
      'retry.colour: unknown option. Known options: name, attempts, backoff, retryIf.',
    );
  });

  it('is refused without its value, which may be a secret', () => {
    expect(() => rejectUnknown({ keysEncryption: 'secret' }, ['encryption'], 'module')).toThrow(
      /^module\.keysEncryption: unknown option\. Did you mean "encryption"\?$/,
    );
    expect(() => rejectUnknown({ colour: 'secret' }, known)).not.toThrow(/secret/);
    expect(() => rejectUnknown({ name: 'secret' }, known)).not.toThrow();
  });

  it('is refused even when its value is undefined', () => {
    expect(() => rejectUnknown({ atempts: undefined }, known)).toThrow(/^atempts: unknown option/);
  });

  it('is not a symbol and not what an object inherits', () => {
    expect(() => rejectUnknown(Object.create({ inherited: 1 }) as object, known)).not.toThrow();
    expect(() => rejectUnknown({ [Symbol('private')]: 1 }, known)).not.toThrow();
  });
});

describe('the answer of a predicate', () => {
  it.each([true, 1, 'yes', {}, [], () => {}])('is yes when it is truthy, as %s', (answer) => {
    expect(decision(answer, 'retryIf')).toBe(true);
  });

  it.each([false, 0, '', null, undefined, NaN])('is no when it is falsy, as %s', (answer) => {
    expect(decision(answer, 'retryIf')).toBe(false);
  });

  it('cannot be a promise', () => {
    expect(() => decision(Promise.resolve(false), 'retryIf')).toThrow(TypeError);
    expect(() => decision(Promise.resolve(false), 'retryIf')).toThrow(
      /^retryIf returned a Promise\. Return true or false/,
    );
  });

  it('that is a rejected promise is refused without an unhandled rejection', async () => {
    expect(() => decision(Promise.reject(new Error('nobody waits for this')), 'recordIf')).toThrow(TypeError);
    await Promise.resolve();
  });
});

describe('the nearest name', () => {
  it('lies within two edits, or is contained', () => {
    expect(nearestName('carier', ['carrier', 'payments'])).toBe('carrier');
    expect(nearestName('carrierX1', ['carrier'])).toBe('carrier');
    expect(nearestName('cr', ['carrier'])).toBeUndefined();
  });

  it('is the nearest of several', () => {
    expect(nearestName('delais', ['relay', 'delay', 'delays'])).toBe('delays');
  });

  it('is measured in insertions, deletions and substitutions', () => {
    expect(editDistance('', 'abc')).toBe(3);
    expect(editDistance('abc', '')).toBe(3);
    expect(editDistance('kitten', 'sitting')).toBe(3);
    expect(editDistance('same', 'same')).toBe(0);
  });
});

describe('refuseInherited', () => {
  class Retries {
    get attempts(): number {
      return 3;
    }
  }

  it.each([
    ['a getter of a class', new Retries()],
    ['a field of another object', Object.create({ attempts: 3 }) as object],
  ])('refuses a known option that is %s', (_case, options) => {
    expect(() => refuseInherited(options, ['attempts'], 'retry')).toThrow('retry.attempts: is inherited');
    expect(() => rejectUnknown(options, ['attempts'])).toThrow('attempts: is inherited');
  });

  it('refuses a known option that somebody has given to all objects', () => {
    Object.defineProperty(Object.prototype, 'attempts', {
      value: 3,
      configurable: true,
      enumerable: true,
      writable: true,
    });
    try {
      expect(() => rejectUnknown({}, ['attempts'])).toThrow('attempts: is inherited');
      expect(() => rejectUnknown({ attempts: 2 }, ['attempts'])).not.toThrow();
    } finally {
      delete (Object.prototype as { attempts?: number }).attempts;
    }
  });

  it('takes what an object has itself, and leaves what is not known alone', () => {
    const own = Object.assign(Object.create({ get: () => 5 }) as object, { attempts: 3 });

    expect(() => refuseInherited(own, ['attempts'])).not.toThrow();
    expect(() =>
      rejectUnknown(Object.assign(Object.create(null) as object, { attempts: 3 }), ['attempts']),
    ).not.toThrow();
  });
});
