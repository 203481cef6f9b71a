import { describe, expect, it } from 'vitest';
import { hiddenField } from './hidden-field.js';

describe('a hidden field', () => {
  it('remembers a value for each object, and none for others', () => {
    const nameOf = hiddenField<object, string>();
    const [first, second] = [{}, {}];
    nameOf.give(first, 'first');
    nameOf.give(second, 'second');

    expect([nameOf.of(first), nameOf.of(second), nameOf.of({})]).toEqual(['first', 'second', undefined]);
  });

  it('knows nothing of what other fields remember', () => {
    const [nameOf, ageOf] = [hiddenField<object, string>(), hiddenField<object, number>()];
    const owner = {};
    nameOf.give(owner, 'owner');

    expect(ageOf.of(owner)).toBeUndefined();
  });

  it('leaves no trace on its owner, not even on a frozen one', () => {
    const nameOf = hiddenField<object, string>();
    const owner = Object.freeze({ a: 1 });
    nameOf.give(owner, 'owner');

    expect(nameOf.of(owner)).toBe('owner');
    expect(Reflect.ownKeys(owner)).toEqual(['a']);
    expect(Object.getPrototypeOf(owner)).toBe(Object.prototype);
  });

  it('is not taken in by objects that inherit from its owner', () => {
    const nameOf = hiddenField<object, string>();
    const owner = {};
    nameOf.give(owner, 'owner');

    expect(nameOf.of(Object.create(owner) as object)).toBeUndefined();
  });

  it('asks no proxy', () => {
    const refuse = (): never => {
      throw new Error('not to be asked');
    };
    const owner = new Proxy({}, { get: refuse, has: refuse, set: refuse, defineProperty: refuse });
    const nameOf = hiddenField<object, string>();
    nameOf.give(owner, 'owner');

    expect(nameOf.of(owner)).toBe('owner');
  });
});
