import { describe, expect, it } from 'vitest';
import { CircuitBreakerPolicy, createPolicy } from '../index.js';
import { resolveCircuitBreakerOptions, type CircuitBreakerOptions } from './circuit-breaker-options.js';

const refusal = (options: unknown): Error => {
  try {
    new CircuitBreakerPolicy(options as CircuitBreakerOptions);
  } catch (error) {
    return error as Error;
  }
  throw new Error('The options were accepted.');
};

describe('the options of a circuit breaker', () => {
  it('have the documented defaults', () => {
    const { name, options } = new CircuitBreakerPolicy();

    expect(name).toBe('circuit-breaker');
    expect(options).toEqual({
      failureRateThreshold: 50,
      minimumCalls: 10,
      slidingWindow: { type: 'count', size: 20 },
      openDuration: 30_000,
      halfOpenMaxCalls: 1,
      recordIf: expect.any(Function) as unknown,
    });
  });

  it('are shown in milliseconds, and what is off by default only when it is on', () => {
    const recordIf = (): boolean => true;
    const { options } = new CircuitBreakerPolicy({
      slidingWindow: { type: 'time', size: '10s' },
      minimumCalls: 100,
      openDuration: '1m',
      recordIf,
      slowCallDuration: '2s',
      consecutiveFailures: 5,
      openBackoff: { maxDuration: '1h' },
      probeLease: '3s',
    });

    expect(options).toEqual({
      failureRateThreshold: 50,
      minimumCalls: 100,
      slidingWindow: { type: 'time', size: 10_000 },
      openDuration: 60_000,
      halfOpenMaxCalls: 1,
      recordIf,
      slowCallDuration: 2_000,
      slowCallRateThreshold: 100,
      consecutiveFailures: 5,
      openBackoff: { factor: 2, maxDuration: 3_600_000, jitter: 'none' },
      probeLease: 3_000,
    });
  });

  it('that are undefined are those that are missing', () => {
    const nothing = { name: undefined, minimumCalls: undefined, openBackoff: undefined, slowCallDuration: undefined };

    expect(new CircuitBreakerPolicy(nothing).options).toEqual({
      ...new CircuitBreakerPolicy().options,
      recordIf: expect.any(Function) as unknown,
    });
  });

  it.each<[string, CircuitBreakerOptions]>([
    ['a threshold of a fraction', { failureRateThreshold: 0.001 }],
    ['a threshold of 100', { failureRateThreshold: 100 }],
    ['as many minimumCalls as the window holds', { minimumCalls: 20 }],
    [
      'more minimumCalls than any count window with a time window',
      { minimumCalls: 5_000, slidingWindow: { type: 'time', size: 1 } },
    ],
    ['a window of one call', { minimumCalls: 1, slidingWindow: { type: 'count', size: 1 } }],
    ['an openDuration of 0', { openDuration: 0 }],
    ['an openDuration above the longest timer', { openDuration: '52w' }],
    ['as many probes as can be counted', { halfOpenMaxCalls: Number.MAX_SAFE_INTEGER }],
    ['every other backoff of openDuration', { openBackoff: { factor: 1.5, maxDuration: '1m', jitter: 'full' } }],
    ['one whose half is drawn', { openBackoff: { jitter: 'equal' } }],
    ['a share of slow calls', { slowCallDuration: 1, slowCallRateThreshold: 0.5 }],
    ['a factor of 1', { openBackoff: { factor: 1 } }],
    ['a maxDuration of 0', { openBackoff: { maxDuration: 0 } }],
  ])('may be %s', (_what, options) => {
    expect(new CircuitBreakerPolicy(options).state).toBe('closed');
  });

  const outside = [0, -1, NaN, Infinity, -Infinity, '5', null, true, {}, []];
  const wholes = [...outside, 1.5];
  it.each<[string, unknown]>([
    ...['minimumCalls', 'halfOpenMaxCalls', 'consecutiveFailures'].flatMap((option) =>
      wholes.map((value): [string, unknown] => [option, value]),
    ),
    ...[...outside, 100.1, 101].map((value): [string, unknown] => ['failureRateThreshold', value]),
    ...[-1, NaN, Infinity, null, '5', '-1s', '1 s', true, {}].map((value): [string, unknown] => [
      'openDuration',
      value,
    ]),
    ...[0, -1, NaN, Infinity, null, '0s', '5', true].map((value): [string, unknown] => ['slowCallDuration', value]),
    ...[0, -1, NaN, '0s', 'soon'].map((value): [string, unknown] => ['probeLease', value]),
    ...[1, null, 'yes', {}, true].map((value): [string, unknown] => ['recordIf', value]),
    ...['', 5, null, {}].map((value): [string, unknown] => ['name', value]),
  ])('are refused when %s is %j', (option, value) => {
    const error = refusal({ [option]: value });

    expect(error).toBeInstanceOf(TypeError);
    expect(error.name).toBe('TypeError');
    expect(error.message.startsWith(`${option}: `)).toBe(true);
  });

  it.each<[string, unknown, RegExp]>([
    [
      'a slow rate without a slow duration',
      { slowCallRateThreshold: 50 },
      /^slowCallRateThreshold: 50 has no effect without slowCallDuration\. Set slowCallDuration to say which calls are slow\.$/,
    ],
    ['a slow rate of 0', { slowCallDuration: 1, slowCallRateThreshold: 0 }, /^slowCallRateThreshold: /],
    ['a slow rate above 100', { slowCallDuration: 1, slowCallRateThreshold: 101 }, /^slowCallRateThreshold: /],
    [
      'minimumCalls above a count window',
      { minimumCalls: 30, slidingWindow: { type: 'count', size: 10 } },
      new RegExp(
        '^minimumCalls: 30 calls never fit into a window of the last 10 calls, so the breaker would never open\\. ' +
          'Lower minimumCalls to 10 or less, or raise slidingWindow\\.size to 30 or more\\.$',
      ),
    ],
    ['minimumCalls above the default window', { minimumCalls: 50 }, /^minimumCalls: .*50.*20/],
    [
      'a count window below the default minimumCalls',
      { slidingWindow: { type: 'count', size: 5 } },
      /^minimumCalls: .*10.*5/,
    ],
    ['a window of an unknown type', { slidingWindow: { type: 'calls', size: 5 } }, /^slidingWindow\.type: .*"calls"/],
    ['a window without a type', { slidingWindow: { size: 5 } }, /^slidingWindow\.type: /],
    ['a count window of 0', { slidingWindow: { type: 'count', size: 0 } }, /^slidingWindow\.size: /],
    ['a count window of a fraction', { slidingWindow: { type: 'count', size: 20.5 } }, /^slidingWindow\.size: /],
    ['an endless count window', { slidingWindow: { type: 'count', size: Infinity } }, /^slidingWindow\.size: /],
    ['a count window of a duration', { slidingWindow: { type: 'count', size: '20s' } }, /^slidingWindow\.size: /],
    ['a time window of 0', { slidingWindow: { type: 'time', size: 0 } }, /^slidingWindow\.size: /],
    ['a time window of NaN', { slidingWindow: { type: 'time', size: NaN } }, /^slidingWindow\.size: /],
    ['a window that is a number', { slidingWindow: 20 }, /^slidingWindow: /],
    [
      'an unknown option of the window',
      { slidingWindow: { type: 'count', size: 20, sise: 1 } },
      /^slidingWindow\.sise: .*"size"/,
    ],
    ['a factor below 1', { openBackoff: { factor: 0.5 } }, /^openBackoff\.factor: /],
    ['a factor without end', { openBackoff: { factor: Infinity } }, /^openBackoff\.factor: /],
    ['a negative maxDuration', { openBackoff: { maxDuration: -1 } }, /^openBackoff\.maxDuration: /],
    [
      'an unknown jitter',
      { openBackoff: { jitter: 'some' } },
      /^openBackoff\.jitter: .*'full', 'equal', 'none', got "some"/,
    ],
    [
      'an openBackoff that is a number',
      { openBackoff: 2 },
      /^openBackoff: expected an options object, got a number\. Use { factor: 2, maxDuration: '5m' }\.$/,
    ],
    ['an unknown option of openBackoff', { openBackoff: { faktor: 2 } }, /^openBackoff\.faktor: .*"factor"/],
    ['a misspelt option', { failureRateTreshold: 50 }, /^failureRateTreshold: .*"failureRateThreshold"/],
    ['an option of another policy', { attempts: 3 }, /^attempts: unknown option/],
    [
      'a number instead of options',
      5,
      /^expected an options object, got a number\. Use { failureRateThreshold: 50, minimumCalls: 10 }\.$/,
    ],
    ['null', null, /^expected an options object, got null\. /],
  ])('are refused with the place and the remedy: %s', (_what, options, message) => {
    const error = refusal(options);

    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toMatch(message);
  });

  it('are refused before there is a breaker, when no options at all were given for one', () => {
    expect(() => resolveCircuitBreakerOptions(5 as never)).toThrow(
      /^expected an options object, got a number\. Use { failureRateThreshold: 50, minimumCalls: 10 }\.$/,
    );
  });

  it('are refused by createPolicy() under the name of the stage', () => {
    expect(() => createPolicy({ circuitBreaker: { minimumCalls: 0 } })).toThrow(/^circuitBreaker\.minimumCalls: /);
  });
});
