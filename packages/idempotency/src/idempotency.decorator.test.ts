import { describe, expect, it } from 'vitest';
import { IDEMPOTENT, Idempotent } from './idempotency.decorator.js';

const of = (target: object): unknown => Reflect.getMetadata(IDEMPOTENT, target);

describe('@Idempotent()', () => {
  it('is metadata on a method, with times in milliseconds, and leaves the method as it is', () => {
    const method = function create(): void {};
    const descriptor = { value: method, writable: true };
    Idempotent({ ttl: '1h', required: true, lockTtl: undefined })({}, 'create', descriptor);

    expect(of(method)).toEqual({ ttl: 3_600_000, required: true });
    expect(descriptor.value).toBe(method);
    expect(IDEMPOTENT).toBe('nestjs:idempotent');
  });

  it('is metadata on a class', () => {
    @Idempotent()
    class Payments {}

    expect(of(Payments)).toEqual({});
  });

  it('with false opts out', () => {
    @Idempotent(false)
    class Payments {}

    expect(of(Payments)).toBe(false);
  });

  it.each<[unknown, RegExp]>([
    [{ ttl: 'soon' }, /^@Idempotent\(\)\.ttl: Invalid duration "soon"/],
    [{ keyFrom: { header: '' } }, /^@Idempotent\(\)\.keyFrom\.header: expected the name of a header/],
    [{ tll: '1h' }, /^@Idempotent\(\)\.tll: unknown option\. Did you mean "ttl"\?/],
    [null, /^@Idempotent\(\): expected an options object, got null\./],
    [true, /^@Idempotent\(\): expected an options object, got a boolean\./],
    ['1h', /^@Idempotent\(\): expected an options object, got a string\./],
  ])('refuses %j where it is written', (options, message) => {
    const act = (): unknown => Idempotent(options as never);

    expect(act).toThrow(TypeError);
    expect(act).toThrow(message);
  });
});
