import { describe, expect, it } from 'vitest';
import type { ResilienceDefaults } from '../resilience.options.js';
import { mergeStages, overlayRetry, type Level } from './merge-stages.js';
import type { StageSettings } from './metadata.js';

type Written = { readonly [Stage in keyof StageSettings]?: StageSettings[Stage] };

/** What is written on a handler, in its preset, on its class, in the class's preset. */
interface Written4 {
  readonly handler?: Written;
  readonly handlerPreset?: Written;
  readonly class?: Written;
  readonly classPreset?: Written;
}

function level(on: Level['on'], preset: string | undefined, written: Written | undefined): Level[] {
  if (written === undefined) return [];

  const stages = Object.fromEntries(Object.entries(written).map(([stage, value]) => [stage, Object.freeze({ value })]));
  return [{ on, preset, stages }];
}

function merge(written: Written4, defaults: ResilienceDefaults = {}) {
  const levels = [
    ...level('handler', undefined, written.handler),
    ...level('handler', 'near', written.handlerPreset),
    ...level('class', undefined, written.class),
    ...level('class', 'far', written.classPreset),
  ];

  return mergeStages({ levels, defaults, source: 'Shop.list' });
}

const yes = () => true;
const no = () => false;

describe('retry', () => {
  const cases: [string, Written4, ResilienceDefaults['retry'], StageSettings['retry'] | undefined][] = [
    ['is off where nobody asks for it, whatever the defaults say', {}, 5, undefined],
    ['is on with nothing set', { handler: { retry: {} } }, undefined, {}],
    ['takes the defaults', { handler: { retry: {} } }, { attempts: 4, retryIf: yes }, { attempts: 4, retryIf: yes }],
    ['takes defaults written as a number', { handler: { retry: {} } }, 4, { attempts: 4 }],
    ['reads a number as the attempts', { handler: { retry: 5 } }, { attempts: 4 }, { attempts: 5 }],
    ['reads false as one attempt', { handler: { retry: false }, class: { retry: 4 } }, 3, { attempts: 1 }],
    [
      'merges a handler over its preset field by field',
      { handler: { retry: { idempotent: true } }, handlerPreset: { retry: { attempts: 2 } } },
      { attempts: 3, backoff: { delay: '200ms' } },
      { idempotent: true, attempts: 2, backoff: { delay: '200ms' } },
    ],
    [
      'merges a handler over its class',
      { handler: { retry: { attempts: 4 } }, class: { retry: { retryIf: no, attempts: 2 } } },
      undefined,
      { attempts: 4, retryIf: no },
    ],
    [
      'merges down to the first preset and not below it',
      {
        handler: { retry: { retryIf: yes } },
        handlerPreset: { retry: { attempts: 2 } },
        class: { retry: { idempotent: true, attempts: 7 } },
        classPreset: { retry: { retryAfter: false } },
      },
      undefined,
      { retryIf: yes, attempts: 2 },
    ],
    [
      'passes over a preset that has no retry',
      {
        handlerPreset: { timeout: 1 },
        class: { retry: { attempts: 7 } },
        classPreset: { retry: { retryAfter: false } },
      },
      undefined,
      { attempts: 7, retryAfter: false },
    ],
    [
      'keeps idempotent from the class',
      { handler: { retry: 4 }, class: { retry: { idempotent: true } } },
      undefined,
      { attempts: 4, idempotent: true },
    ],
    [
      'ignores fields that are undefined',
      { handler: { retry: { attempts: undefined } }, handlerPreset: { retry: { attempts: 2, retryIf: undefined } } },
      { retryIf: yes },
      { attempts: 2, retryIf: yes },
    ],
    [
      'merges objects of backoff field by field, over all levels',
      {
        handler: { retry: { backoff: { jitter: 'none', delay: undefined } } },
        handlerPreset: { retry: { backoff: { delay: 100 } } },
      },
      { backoff: { delay: 200, maxDelay: '2s' } },
      { backoff: { jitter: 'none', delay: 100, maxDelay: '2s' } },
    ],
    [
      'lets a function replace an object of backoff',
      { handler: { retry: { backoff: () => 5 } } },
      { backoff: { delay: 200 } },
      { backoff: expect.any(Function) as () => number },
    ],
    [
      'lets an object replace a function of backoff, which hides what is below',
      { handler: { retry: { backoff: { delay: 1 } } }, handlerPreset: { retry: { backoff: () => 5 } } },
      { backoff: { maxDelay: '2s' } },
      { backoff: { delay: 1 } },
    ],
  ];

  it.each(cases)('%s', (_case, written, retry, expected) => {
    expect(merge(written, { retry }).retry).toEqual(expected);
  });

  it('knows whether a decorator stands on the handler itself', () => {
    expect(merge({ handler: { retry: 2 } }).retryOnHandler).toBe(true);
    expect(merge({ handler: {}, handlerPreset: { retry: 2 } }).retryOnHandler).toBe(false);
    expect(merge({ class: { retry: 2 } }).retryOnHandler).toBe(false);
  });
});

describe('timeout', () => {
  const perAttempt = () => 100;
  const cases: [string, Written4, ResilienceDefaults['timeout'], unknown][] = [
    ['is off where nobody asks for it', {}, '5s', undefined],
    ['is that of the handler', { handler: { timeout: 1 }, handlerPreset: { timeout: 2 } }, '5s', { value: 1 }],
    ['is that of the preset', { handlerPreset: { timeout: 2 }, class: { timeout: 3 } }, '5s', { value: 2 }],
    ['is that of the class', { class: { timeout: 3 }, classPreset: { timeout: 4 } }, '5s', { value: 3 }],
    ["is that of the class's preset", { classPreset: { timeout: 4 } }, '5s', { value: 4 }],
    ['may be a function', { handler: { timeout: perAttempt }, class: { timeout: 3 } }, '5s', { value: perAttempt }],
    ['skips a bare one', { handler: { timeout: undefined }, class: { timeout: 3 } }, '5s', { value: 3 }],
    ['takes the default for a bare one', { handler: { timeout: undefined } }, '5s', { value: '5s' }],
    [
      'is on without a duration when nobody has one',
      { handler: { timeout: undefined } },
      undefined,
      { value: undefined },
    ],
  ];

  it.each(cases)('%s', (_case, written, timeout, expected) => {
    expect(merge(written, { timeout }).timeout).toEqual(expected);
  });
});

describe('budget', () => {
  const cases: [string, Written4, ResilienceDefaults['budget'], unknown][] = [
    ['is off where nobody asks for it, whatever the defaults say', {}, '5s', undefined],
    ['is that of the handler', { handler: { budget: 1 }, handlerPreset: { budget: 2 } }, '5s', { value: 1 }],
    ['is that of the preset', { handlerPreset: { budget: 2 }, class: { budget: 3 } }, '5s', { value: 2 }],
    ['is that of the class', { class: { budget: 3 }, classPreset: { budget: 4 } }, '5s', { value: 3 }],
    ["is that of the class's preset", { classPreset: { budget: 4 } }, '5s', { value: 4 }],
    ['skips a bare one', { handler: { budget: undefined }, class: { budget: 3 } }, '5s', { value: 3 }],
    ['takes the default for a bare one only', { handler: { budget: undefined } }, '5s', { value: '5s' }],
    [
      'is on without a duration when nobody has one',
      { handler: { budget: undefined } },
      undefined,
      { value: undefined },
    ],
    ['has nothing to do with a timeout', { handler: { timeout: 1 } }, '5s', undefined],
  ];

  it.each(cases)('%s', (_case, written, budget, expected) => {
    expect(merge(written, { budget }).budget).toEqual(expected);
  });
});

describe.each(['circuitBreaker', 'bulkhead'] as const)('%s', (stage) => {
  const option = stage === 'circuitBreaker' ? 'minimumCalls' : 'maxConcurrent';
  const other = stage === 'circuitBreaker' ? 'openDuration' : 'maxQueue';
  const cases: [
    string,
    Record<keyof Written4, unknown> | Partial<Record<keyof Written4, unknown>>,
    object | undefined,
  ][] = [
    ['is off where nobody asks for it', {}, undefined],
    [
      'belongs to the handler when nothing names it',
      { handler: {} },
      { name: 'Shop.list', options: {}, namedBy: 'handler', defines: true },
    ],
    [
      'is refined from class to handler',
      { handler: { [option]: 5 }, class: { [option]: 7, [other]: 8 } },
      { name: 'Shop.list', options: { [option]: 5, [other]: 8 }, namedBy: 'handler' },
    ],
    [
      'is a reference when it is a string',
      { handler: 'shared' },
      { name: 'shared', options: {}, namedBy: 'name', defines: false },
    ],
    [
      'is a reference when it has a name only',
      { handler: { name: 'shared' } },
      { name: 'shared', options: {}, defines: false },
    ],
    [
      'is a reference when its other options are undefined',
      { handler: { name: 'shared', [option]: undefined } },
      { name: 'shared', options: {}, defines: false },
    ],
    [
      'is configured by a name with options',
      { handler: { name: 'shared', [option]: 5 }, class: { [other]: 8 } },
      { name: 'shared', options: { [option]: 5 }, namedBy: 'name', defines: true },
    ],
    [
      'stops at the first name',
      { handler: { [option]: 5 }, class: 'shared', classPreset: { [other]: 8 } },
      { name: 'shared', options: { [option]: 5 }, defines: true },
    ],
    [
      "takes the preset's name",
      { handlerPreset: { [option]: 5 }, class: { [other]: 8 } },
      { name: 'near', options: { [option]: 5 }, namedBy: 'preset', defines: true },
    ],
    [
      'counts an empty preset as a definition',
      { handlerPreset: {} },
      { name: 'near', options: {}, namedBy: 'preset', defines: true },
    ],
    [
      "takes a preset's own name",
      { handlerPreset: { name: 'shared', [option]: 5 } },
      { name: 'shared', options: { [option]: 5 }, namedBy: 'name', defines: true },
    ],
    ['follows a string in a preset', { handlerPreset: 'shared' }, { name: 'shared', options: {}, defines: false }],
    [
      "refines a preset under the preset's name",
      { handler: { [option]: 5 }, handlerPreset: { [option]: 7, [other]: 8 } },
      { name: 'near', options: { [option]: 5, [other]: 8 }, namedBy: 'preset' },
    ],
    [
      'ignores undefined in decorators',
      { handler: { [option]: undefined }, class: { [option]: 7 } },
      { name: 'Shop.list', options: { [option]: 7 } },
    ],
    [
      'keeps undefined in presets, where it erases the default',
      { handlerPreset: { [option]: undefined } },
      { name: 'near', options: { [option]: undefined } },
    ],
  ];

  it.each(cases)('%s', (_case, written, expected) => {
    const levels = Object.fromEntries(Object.entries(written).map(([place, value]) => [place, { [stage]: value }]));
    const merged = merge(levels)[stage];

    if (expected === undefined) expect(merged).toBeUndefined();
    else expect(merged).toMatchObject(expected);
  });

  it('tells two places that use one name apart, and recognises one place that is read twice', () => {
    const [one] = level('handler', undefined, { [stage]: 'shared' });
    const [two] = level('handler', undefined, { [stage]: 'shared' });
    const settingOf = (levels: (Level | undefined)[]) =>
      mergeStages({ levels: levels as Level[], defaults: {}, source: 'Shop.list' })[stage]?.setting;

    expect(settingOf([one])).toBe(settingOf([one]));
    expect(settingOf([one])).not.toBe(settingOf([two]));
  });
});

describe('a breaker of one window in the class and another in the handler', () => {
  it('takes the window of the handler whole', () => {
    const { circuitBreaker } = merge({
      handler: { circuitBreaker: { slidingWindow: { type: 'time', size: '10s' } } },
      class: { circuitBreaker: { slidingWindow: { type: 'count', size: 30 } } },
    });

    expect(circuitBreaker?.options).toEqual({ slidingWindow: { type: 'time', size: '10s' } });
  });
});

describe('outboundRateLimit', () => {
  const near = { limit: 5, interval: '1s' } as const;
  const far = { limit: 9, interval: '1s' } as const;

  it('is that of the most specific preset that has one', () => {
    expect(
      merge({ handlerPreset: { outboundRateLimit: near }, classPreset: { outboundRateLimit: far } }),
    ).toMatchObject({
      outboundRateLimit: { name: 'near', options: near },
    });
    expect(merge({ handlerPreset: {}, classPreset: { outboundRateLimit: far } })).toMatchObject({
      outboundRateLimit: { name: 'far', options: far },
    });
  });
});

describe('fallback', () => {
  const answer = () => 'near';
  const other = () => 'far';
  const cases: [string, Written4, object | undefined][] = [
    ['is off where nobody asks for it', {}, undefined],
    ['is that of the handler', { handler: { fallback: { handler: 'flat' } } }, { handler: 'flat', from: 'decorator' }],
    [
      'is that of the preset',
      { handlerPreset: { fallback: { handler: answer, handleIf: yes } }, class: { fallback: { handler: 'flat' } } },
      { handler: answer, handleIf: yes, from: 'preset' },
    ],
    [
      'of the handler keeps the condition of the class',
      { handler: { fallback: { handler: answer } }, class: { fallback: { handler: other, handleIf: no } } },
      { handler: answer, handleIf: no, from: 'decorator' },
    ],
    [
      'of the handler may have a condition of its own',
      {
        handler: { fallback: { handler: answer, handleIf: yes } },
        class: { fallback: { handler: other, handleIf: no } },
      },
      { handler: answer, handleIf: yes, from: 'decorator' },
    ],
    [
      'of the handler takes nothing from presets',
      { handler: { fallback: { handler: answer } }, handlerPreset: { fallback: { handler: other, handleIf: no } } },
      { handler: answer, from: 'decorator' },
    ],
    [
      'of the handler takes nothing from the preset of its class',
      { handler: { fallback: { handler: answer } }, classPreset: { fallback: { handler: other, handleIf: no } } },
      { handler: answer, from: 'decorator' },
    ],
    [
      'of a preset takes nothing from the class',
      { handlerPreset: { fallback: { handler: answer } }, class: { fallback: { handler: other, handleIf: no } } },
      { handler: answer, from: 'preset' },
    ],
  ];

  it.each(cases)('%s', (_case, written, expected) => {
    expect(merge(written).fallback).toEqual(expected);
  });
});

describe('overlayRetry', () => {
  it('returns new objects and writes to none', () => {
    const under = Object.freeze({ attempts: 2, backoff: Object.freeze({ delay: 100 }) });
    const over = Object.freeze({ retryIf: yes, backoff: Object.freeze({ factor: 3 }) });

    expect(overlayRetry(under, over)).toEqual({ attempts: 2, retryIf: yes, backoff: { delay: 100, factor: 3 } });
  });
});
