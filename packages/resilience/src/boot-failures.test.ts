import { Controller, Get, Inject, Injectable, Scope, type Provider, type Type } from '@nestjs/common';
import { MessagePattern } from '@nestjs/microservices';
import { afterEach, describe, expect, it } from 'vitest';
import { boot, closeAll, type Application } from '../test/boot.js';
import {
  Budget,
  Bulkhead,
  BudgetPolicy,
  BulkheadPolicy,
  CircuitBreaker,
  CircuitBreakerPolicy,
  Fallback,
  Resilience,
  ResilienceModule,
  ResilienceService,
  Retry,
  RetryPolicy,
  Timeout,
  type ResilienceModuleOptions,
} from './index.js';

afterEach(closeAll);

/** Boots, and returns why that failed; the application must not have listened. */
async function failureOf(application: Application): Promise<Error> {
  const { error, listening } = await boot(application);
  expect(listening).toBe(false);
  expect(error).toBeInstanceOf(Error);

  return error as Error;
}

/** Options of any shape, as plain JavaScript can pass them. */
const options = (given: unknown): Application => ({ options: given as ResilienceModuleOptions });

/** A controller whose only handler has these decorators. */
function shopWith(...decorators: readonly (MethodDecorator | undefined)[]): Type {
  @Controller('shop')
  class Shop {
    @Get()
    list(): string[] {
      return [];
    }

    flat(): string[] {
      return [];
    }
  }

  apply(decorators, Shop, 'list');
  return Shop;
}

function apply(decorators: readonly (MethodDecorator | undefined)[], cls: Type, name: string): void {
  const prototype = cls.prototype as object;
  const descriptor = Object.getOwnPropertyDescriptor(prototype, name) as PropertyDescriptor;
  for (const decorator of decorators) decorator?.(prototype, name, descriptor);
}

interface Case {
  readonly it: string;
  readonly app: Application;
  /** In the message: where it is, what is wrong with it, and what to do instead. */
  readonly says: readonly (string | RegExp)[];
}

const nan = Number(undefined);

describe("the module's options", () => {
  const cases: Case[] = [
    {
      it: 'are an object',
      app: { imports: [ResilienceModule.forRootAsync({ useFactory: () => undefined as never })] },
      says: ['expected an options object', 'got undefined', '{ defaults, presets'],
    },
    {
      it: 'have no unknown key',
      app: options({ preset: {} }),
      says: [/^preset:/, 'unknown option', 'Did you mean "presets"?'],
    },
    { it: 'have no null', app: options({ presets: null }), says: [/^presets:/, 'got null', '{ carrier:'] },
    {
      it: 'have no null for a boolean',
      app: options({ mapErrors: null }),
      says: [/^mapErrors:/, 'got null', 'true or false'],
    },
    {
      it: 'have booleans that are booleans',
      app: options({ mapErrors: 'no' }),
      says: [/^mapErrors:/, '"no"', 'true or false'],
    },
    {
      it: 'have strict names or not',
      app: options({ strictNames: 1 }),
      says: [/^strictNames:/, 'got 1', 'true or false'],
    },
    {
      it: 'have a client timeout above zero',
      app: options({ clientTimeout: 0 }),
      says: [/^clientTimeout:/, '0', 'greater than 0'],
    },
    {
      it: 'have a client timeout with a unit',
      app: options({ clientTimeout: '30' }),
      says: [/^clientTimeout:/, '"30"', "'1.5s'"],
    },
    {
      it: 'have defaults in an object',
      app: options({ defaults: 5 }),
      says: [/^defaults:/, 'got a number', "{ timeout: '5s' }"],
    },
    {
      it: 'have defaults of known stages',
      app: options({ defaults: { outboundRateLimit: { limit: 1, interval: 1 } } }),
      says: [/^defaults\.outboundRateLimit:/, 'unknown option', 'retry, timeout, circuitBreaker, bulkhead'],
    },
    {
      it: 'have a default timeout above zero',
      app: options({ defaults: { timeout: 0 } }),
      says: [/^defaults\.timeout:/, 'Invalid duration 0', 'greater than 0'],
    },
    {
      it: 'have a default timeout that is a duration',
      app: options({ defaults: { timeout: '5 seconds' } }),
      says: [/^defaults\.timeout:/, '"5 seconds"', "'1.5s'"],
    },
    {
      it: 'have default attempts that are a number, not that of an unset variable',
      app: options({ defaults: { retry: nan } }),
      says: [/^defaults\.retry\.attempts:/, 'got NaN', 'at least 1'],
    },
    {
      it: 'have default attempts of at least one',
      app: options({ defaults: { retry: { attempts: 0 } } }),
      says: [/^defaults\.retry\.attempts:/, 'got 0', 'at least 1'],
    },
    {
      it: 'do not turn retries off by default, since defaults turn nothing on',
      app: options({ defaults: { retry: false } }),
      says: [/^defaults\.retry:/, 'got false', 'Leave it out'],
    },
    {
      it: 'have default backoffs of known fields',
      app: options({ defaults: { retry: { backoff: { maxdelay: '2s' } } } }),
      says: [/^defaults\.retry\.backoff\.maxdelay:/, 'unknown option', 'Did you mean "maxDelay"?'],
    },
    {
      it: 'have default breakers of known options',
      app: options({ defaults: { circuitBreaker: { minCalls: 5 } } }),
      says: [/^defaults\.circuitBreaker\.minCalls:/, 'unknown option', 'Known options: name, failureRateThreshold'],
    },
    {
      it: 'have default breakers whose options are numbers',
      app: options({ defaults: { circuitBreaker: { minimumCalls: '5' } } }),
      says: [/^defaults\.circuitBreaker\.minimumCalls:/, 'got "5"', 'whole number'],
    },
    {
      it: 'have default windows that the default minimum fits into, where both are given',
      app: options({ defaults: { circuitBreaker: { minimumCalls: 30, slidingWindow: { type: 'count', size: 10 } } } }),
      says: [/^defaults\.circuitBreaker\.minimumCalls:/, '30', 'Lower minimumCalls to 10'],
    },
    {
      it: 'have default breakers without a name',
      app: options({ defaults: { circuitBreaker: { name: 'all' } } }),
      says: [/^defaults\.circuitBreaker:/, '"all"', 'Name it in a preset'],
    },
    {
      it: 'have default bulkheads without a name',
      app: options({ defaults: { bulkhead: 'all' } }),
      says: [/^defaults\.bulkhead:/, '"all"', 'Name it in a preset'],
    },
    {
      it: 'have default bulkheads of whole sizes',
      app: options({ defaults: { bulkhead: { maxConcurrent: 1.5 } } }),
      says: [/^defaults\.bulkhead\.maxConcurrent:/, 'got 1.5', 'whole number of at least 1'],
    },
    {
      it: 'have presets in an object',
      app: options({ presets: [] }),
      says: [/^presets:/, 'got an array', '{ carrier:'],
    },
    {
      it: 'have presets that are objects',
      app: options({ presets: { carrier: undefined } }),
      says: [/^presets\.carrier:/, 'got undefined', "{ timeout: '2s', retry: 2 }"],
    },
    {
      it: 'have presets of known stages',
      app: options({ presets: { carrier: { timeouts: '2s' } } }),
      says: [/^presets\.carrier\.timeouts:/, 'unknown option', 'Did you mean "timeout"?'],
    },
    {
      it: 'have presets with known retry options, nearly named ones included',
      app: options({ presets: { carrier: { retry: { maxAttempts: 3 } } } }),
      says: [/^presets\.carrier\.retry\.maxAttempts:/, 'unknown option', 'Did you mean "attempts"?'],
    },
    {
      it: 'have retries whose name is that of the preset',
      app: options({ presets: { carrier: { retry: { name: 'mine' } } } }),
      says: [/^presets\.carrier\.retry\.name:/, 'unknown option', 'Known options: attempts'],
    },
    {
      it: 'have presets whose attempts are whole',
      app: options({ presets: { carrier: { retry: { attempts: 1.5 } } } }),
      says: [/^presets\.carrier\.retry\.attempts:/, 'got 1.5', 'whole number'],
    },
    {
      it: 'have presets whose attempts are a number or false',
      app: options({ presets: { carrier: { retry: true } } }),
      says: [/^presets\.carrier\.retry\.attempts:/, 'got true', 'whole number'],
    },
    {
      it: 'have predicates that are functions: retryIf',
      app: options({ presets: { carrier: { retry: { retryIf: true } } } }),
      says: [/^presets\.carrier\.retry\.retryIf:/, 'got true', 'expected a function'],
    },
    {
      it: 'have predicates that are functions: retryOnResult',
      app: options({ presets: { carrier: { retry: { retryOnResult: 'x' } } } }),
      says: [/^presets\.carrier\.retry\.retryOnResult:/, 'got "x"', 'expected a function'],
    },
    {
      it: 'have predicates that are functions: recordIf',
      app: options({ presets: { carrier: { circuitBreaker: { recordIf: 5 } } } }),
      says: [/^presets\.carrier\.circuitBreaker\.recordIf:/, 'got 5', 'expected a function'],
    },
    {
      it: 'have predicates that are functions: handleIf',
      app: options({ presets: { carrier: { fallback: { handler: () => 1, handleIf: {} } } } }),
      says: [/^presets\.carrier\.fallback\.handleIf:/, 'got an object', 'expected a function'],
    },
    {
      it: 'have presets whose breaker fits together with the defaults under it',
      app: options({
        defaults: { circuitBreaker: { minimumCalls: 30 } },
        presets: { carrier: { circuitBreaker: { slidingWindow: { type: 'count', size: 10 } } } },
      }),
      says: [/^presets\.carrier\.circuitBreaker\.minimumCalls:/, '30', 'Lower minimumCalls to 10'],
    },
    {
      it: 'have presets whose breaker fits the window of twenty calls that is there without being written',
      app: options({ presets: { carrier: { circuitBreaker: { minimumCalls: 50 } } } }),
      says: [/^presets\.carrier\.circuitBreaker\.minimumCalls:/, '50', 'raise slidingWindow.size to 50'],
    },
    {
      it: 'have presets whose slow calls are defined',
      app: options({ presets: { carrier: { circuitBreaker: { slowCallRateThreshold: 50 } } } }),
      says: [/^presets\.carrier\.circuitBreaker\.slowCallRateThreshold:/, '50', 'Set slowCallDuration'],
    },
    {
      it: 'have presets whose percentages are percentages',
      app: options({ presets: { carrier: { circuitBreaker: { failureRateThreshold: 0.5, minimumCalls: nan } } } }),
      says: [/^presets\.carrier\.circuitBreaker\.minimumCalls:/, 'got NaN', 'at least 1'],
    },
    {
      it: 'have presets whose windows are of a known type',
      app: options({ presets: { carrier: { circuitBreaker: { slidingWindow: { type: 'calls', size: 5 } } } } }),
      says: [/^presets\.carrier\.circuitBreaker\.slidingWindow\.type:/, 'got "calls"', "'count', 'time'"],
    },
    {
      it: 'have presets whose windows are not empty',
      app: options({ presets: { carrier: { circuitBreaker: { slidingWindow: { type: 'time', size: 0 } } } } }),
      says: [/^presets\.carrier\.circuitBreaker\.slidingWindow\.size:/, '0', 'greater than 0'],
    },
    {
      it: 'have presets whose breaker is an object or a name',
      app: options({ presets: { carrier: { circuitBreaker: true } } }),
      says: [/^presets\.carrier\.circuitBreaker:/, 'got a boolean', 'the name of a breaker'],
    },
    {
      it: 'have names that are not empty',
      app: options({ presets: { carrier: { circuitBreaker: '' } } }),
      says: [/^presets\.carrier\.circuitBreaker:/, 'got ""', 'a string that is not empty'],
    },
    {
      it: 'have names that are strings',
      app: options({ presets: { carrier: { bulkhead: { name: 5 } } } }),
      says: [/^presets\.carrier\.bulkhead\.name:/, 'got 5', 'expected a name'],
    },
    {
      it: 'have presets whose queue timeout is a duration',
      app: options({ presets: { carrier: { bulkhead: { queueTimeout: '10' } } } }),
      says: [/^presets\.carrier\.bulkhead\.queueTimeout:/, '"10"', "'1.5s'"],
    },
    {
      it: 'have rate limits with a limit',
      app: options({ presets: { carrier: { outboundRateLimit: { interval: '1s' } } } }),
      says: [/^presets\.carrier\.outboundRateLimit\.limit:/, 'got undefined', 'at least 1'],
    },
    {
      it: 'have rate limits with an interval above zero',
      app: options({ presets: { carrier: { outboundRateLimit: { limit: 5, interval: 0 } } } }),
      says: [/^presets\.carrier\.outboundRateLimit\.interval:/, '0', 'greater than 0'],
    },
    {
      it: 'have fallbacks that are functions',
      app: options({ presets: { carrier: { fallback: 'flat' } } }),
      says: [/^presets\.carrier\.fallback:/, 'got a string', 'Use a function'],
    },
    {
      it: 'have fallbacks with a handler',
      app: options({ presets: { carrier: { fallback: { handle: () => 1 } } } }),
      says: [/^presets\.carrier\.fallback\.handle:/, 'unknown option', 'Did you mean "handler"?'],
    },
    {
      it: 'have fallbacks whose handler is not missing',
      app: options({ presets: { carrier: { fallback: { value: 1 } } } }),
      says: [/^presets\.carrier\.fallback\.handler:/, 'is missing', 'only value', '{ handler, handleIf }'],
    },
    {
      it: 'have fallbacks without a name of their own',
      app: options({ presets: { carrier: { fallback: { handler: () => 1, name: 'flat' } } } }),
      says: [/^presets\.carrier\.fallback\.name:/, 'unknown option', 'Known options: handler, handleIf.'],
    },
    {
      it: 'have no policy in place of the options of a retry',
      app: options({ presets: { carrier: { retry: new RetryPolicy() } } }),
      says: [/^presets\.carrier\.retry:/, 'got a RetryPolicy', 'ResiliencePolicy.wrap()'],
    },
    {
      it: 'have no policy in place of the options of a breaker, of its own kind neither',
      app: options({ presets: { carrier: { circuitBreaker: new CircuitBreakerPolicy() } } }),
      says: [/^presets\.carrier\.circuitBreaker: expected options or a name/, 'got a CircuitBreakerPolicy', 'wrap()'],
    },
    {
      it: 'have no policy in place of a preset',
      app: options({ presets: { carrier: new BulkheadPolicy() } }),
      says: [/^presets\.carrier:/, 'got a BulkheadPolicy', 'ResiliencePolicy.wrap()'],
    },
    {
      it: 'have no policy among the defaults',
      app: options({ defaults: { bulkhead: new BulkheadPolicy() } }),
      says: [/^defaults\.bulkhead:/, 'BulkheadPolicy', 'Write options here'],
    },
    {
      it: 'have budgets that are durations',
      app: options({ presets: { carrier: { budget: 0 } } }),
      says: [/^presets\.carrier\.budget:/, 'Invalid duration 0', 'greater than 0'],
    },
    {
      it: 'have no budget of an attempt',
      app: options({ presets: { carrier: { budget: () => 100 } } }),
      says: [/^presets\.carrier\.budget:/, 'Invalid duration function budget', "'1.5s'"],
    },
    {
      it: 'have no policy in place of a budget',
      app: options({ presets: { carrier: { budget: new BudgetPolicy('1s') } } }),
      says: [/^presets\.carrier\.budget: expected a duration, got a BudgetPolicy/, 'ResiliencePolicy.wrap()'],
    },
    {
      it: 'have a default budget that is a duration',
      app: options({ defaults: { budget: '3 s' } }),
      says: [/^defaults\.budget:/, '"3 s"', "'1.5s'"],
    },
    {
      it: 'have a deadlineMargin that is a duration',
      app: options({ deadlineMargin: NaN }),
      says: [/^deadlineMargin:/, 'Invalid duration NaN', "'1.5s'"],
    },
    {
      it: 'have a minRemaining that is a duration',
      app: options({ minRemaining: -1 }),
      says: [/^minRemaining:/, 'Invalid duration -1', "'1.5s'"],
    },
    {
      it: 'have budgets in which something can start',
      app: options({ minRemaining: '20ms', presets: { good: { budget: 21 }, bad: { budget: '20ms' } } }),
      says: [/^presets\.bad\.budget: 20 ms are not more/, 'minRemaining of 20 ms', 'Raise the budget'],
    },
    {
      it: 'are checked in presets that nobody uses, the second one too',
      app: options({ presets: { good: { timeout: '2s' }, bad: { timeout: '-2s' } } }),
      says: [/^presets\.bad\.timeout:/, '"-2s"', "'1.5s'"],
    },
  ];

  it.each(cases)('$it', async ({ app, says }) => {
    const { message, name } = await failureOf(app);

    expect(name).toBe('TypeError');
    for (const part of says) expect(message).toMatch(part instanceof RegExp ? part : escaped(part));
  });
});

function escaped(text: string): RegExp {
  return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
}

async function expectFailure({ app, says }: Omit<Case, 'it'>): Promise<void> {
  const { message } = await failureOf(app);
  for (const part of says) expect(message).toMatch(part instanceof RegExp ? part : escaped(part));
}

describe('options that an object inherits from its class', () => {
  class Retries {
    get attempts(): number {
      return 5;
    }
  }
  class Breaker {
    openDuration = '5s' as const;

    recordIf(): boolean {
      return false;
    }
  }
  class Preset {
    timeout = '2s' as const;

    fallback(): string {
      return 'flat';
    }
  }
  class Settings {
    get presets(): ResilienceModuleOptions['presets'] {
      return {};
    }
  }

  it.each([
    ['presets.carrier.retry.attempts', { presets: { carrier: { retry: new Retries() } } }],
    ['presets.carrier.circuitBreaker.recordIf', { presets: { carrier: { circuitBreaker: new Breaker() } } }],
    ['presets.carrier.fallback', { presets: { carrier: new Preset() } }],
    ['defaults.retry.attempts', { defaults: { retry: new Retries() } }],
    ['presets', new Settings()],
  ])('are refused, since they would be lost: %s', async (path, given) => {
    const error = await failureOf(options(given));

    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toContain(`${path}: is inherited`);
  });

  it('are refused in decorators', async () => {
    const error = await failureOf({ controllers: [shopWith(CircuitBreaker(new Breaker()))] });

    expect(error.message).toContain('circuitBreaker.recordIf: is inherited');
  });

  it('are fine as fields of an instance', async () => {
    class Fields {
      timeout = '2s' as const;
      retry = { attempts: 2 };
    }

    expect(await boot(options({ presets: { carrier: new Fields() } }))).toMatchObject({ error: undefined });
  });
});

describe('options of decorators', () => {
  const on = (decorator: MethodDecorator): Application => ({ controllers: [shopWith(decorator)] });
  const cases: Case[] = [
    { it: 'attempts', app: on(Retry(0)), says: ['retry.attempts:', 'got 0', 'at least 1'] },
    {
      it: 'attempts of an unset variable',
      app: on(Retry({ attempts: nan })),
      says: ['retry.attempts:', 'NaN', 'at least 1'],
    },
    {
      it: 'attempts that are true',
      app: on(Retry(true as never)),
      says: ['retry.attempts:', 'got true', 'whole number'],
    },
    {
      it: 'a policy in place of options',
      app: on(CircuitBreaker(new CircuitBreakerPolicy() as never)),
      says: ['circuitBreaker: expected options or a name, got a CircuitBreakerPolicy', 'ResiliencePolicy.wrap()'],
    },
    { it: 'null for a retry', app: on(Retry(null as never)), says: ['retry:', 'got null', '{ attempts: 3 }'] },
    {
      it: 'a delay',
      app: on(Retry({ backoff: { delay: '1sec' as never } })),
      says: ['retry.backoff.delay:', '"1sec"', "'1.5s'"],
    },
    {
      it: 'idempotent that is not a boolean',
      app: on(Retry({ idempotent: 'yes' as never })),
      says: ['retry.idempotent:', 'got "yes"', 'true or false'],
    },
    {
      it: 'a mistyped retry option',
      app: on(Retry({ maxAttempts: 3 } as never)),
      says: ['retry.maxAttempts:', 'unknown option', 'Did you mean "attempts"?'],
    },
    {
      it: 'a retry of results',
      app: on(Retry({ retryOnResult: () => true } as never)),
      says: ['retry.retryOnResult:', 'function retryOnResult', 'Use a policy object'],
    },
    { it: 'a timeout of zero', app: on(Timeout(0)), says: ['timeout:', 'Invalid duration 0', 'greater than 0'] },
    { it: 'a timeout of an unset variable', app: on(Timeout(nan)), says: ['timeout:', 'NaN', 'non-negative number'] },
    { it: 'a timeout without a unit', app: on(Timeout('500' as never)), says: ['timeout:', '"500"', "'250ms'"] },
    {
      it: 'a threshold',
      app: on(CircuitBreaker({ failureRateThreshold: 101 })),
      says: ['circuitBreaker.failureRateThreshold:', 'got 101', 'at most 100'],
    },
    {
      it: 'a mistyped breaker option',
      app: on(CircuitBreaker({ failureRateTreshold: 50 } as never)),
      says: ['circuitBreaker.failureRateTreshold:', 'unknown option', 'Did you mean "failureRateThreshold"?'],
    },
    {
      it: 'a minimum above the window',
      app: on(CircuitBreaker({ minimumCalls: 30 })),
      says: ['circuitBreaker.minimumCalls:', '30', 'raise slidingWindow.size to 30'],
    },
    { it: 'an empty name', app: on(CircuitBreaker('')), says: ['circuitBreaker:', 'got ""', 'not empty'] },
    {
      it: 'a bulkhead of nobody',
      app: on(Bulkhead({ maxConcurrent: 0 })),
      says: ['bulkhead.maxConcurrent:', 'got 0', 'at least 1'],
    },
    {
      it: 'a queue below nothing',
      app: on(Bulkhead({ maxQueue: -1 })),
      says: ['bulkhead.maxQueue:', 'got -1', 'at least 0'],
    },
    {
      it: 'a fallback that is neither',
      app: on(Fallback(5 as never)),
      says: ['fallback:', 'got 5', 'the name of a method of the class, or a function'],
    },
    {
      it: 'a mistyped fallback option',
      app: on(Fallback(() => 1, { handlesIf: () => true } as never)),
      says: ['fallback.handlesIf:', 'unknown option', 'Did you mean "handleIf"?'],
    },
    {
      it: 'a condition that is not a function',
      app: on(Fallback(() => 1, { handleIf: true as never })),
      says: ['fallback.handleIf:', 'got true', 'expected a function'],
    },
    { it: 'a budget', app: on(Budget('1 s' as never)), says: ['budget:', '"1 s"', "'1.5s'"] },
    { it: 'a budget of nothing', app: on(Budget(0)), says: ['budget:', 'Invalid duration 0', 'greater than 0'] },
    {
      it: 'a policy in place of a budget',
      app: on(Budget(new BudgetPolicy('1s') as never)),
      says: ['budget: expected a duration, got a BudgetPolicy'],
    },
    {
      it: 'a preset that is none',
      app: on(Resilience(undefined as never)),
      says: ['Unknown preset "undefined"', 'Known: (none)', 'this is undefined', 'misspelt', 'import cycle'],
    },
  ];

  it.each(cases)('refuses $it', async ({ app, says }) => {
    await expectFailure({ app, says: ['Resilience decorators on Shop.list: ', ...says] });
  });

  it('refuses them on a class, even where every handler has its own', async () => {
    const Shop = shopWith(Timeout('1s'));
    Timeout('soon' as never)(Shop);

    await expectFailure({
      app: { controllers: [Shop] },
      says: ['Resilience decorators on Shop: timeout:', '"soon"', "'1.5s'"],
    });
  });

  it('refuses a combination that only shows after merging', async () => {
    const Shop = shopWith(CircuitBreaker({ minimumCalls: 30 }));
    CircuitBreaker({ slidingWindow: { type: 'count', size: 10 } })(Shop);

    await expectFailure({
      app: { controllers: [Shop] },
      says: ['Resilience decorators on Shop.list: circuitBreaker.minimumCalls:', '30', 'Lower minimumCalls to 10'],
    });
  });

  it('accepts parts that fit together, though one alone would not', async () => {
    const Shop = shopWith(CircuitBreaker({ minimumCalls: 30 }), Timeout('1s'));
    CircuitBreaker({ slidingWindow: { type: 'time', size: '10s' } })(Shop);

    expect(await boot({ controllers: [Shop] })).toMatchObject({ error: undefined, listening: true, warnings: [] });
  });

  it('accepts a threshold for slow calls whose duration stands on the class', async () => {
    const Shop = shopWith(CircuitBreaker({ slowCallRateThreshold: 50 }), Timeout('1s'));
    CircuitBreaker({ slowCallDuration: '0.5s' })(Shop);

    expect(await boot({ controllers: [Shop] })).toMatchObject({ error: undefined, listening: true, warnings: [] });
  });

  it('refuses a budget in which nothing could start', async () => {
    await expectFailure({
      app: { ...on(Budget(20)), options: { minRemaining: '20ms' } },
      says: ['Resilience decorators on Shop.list: budget: 20 ms are not more', 'minRemaining', 'Raise the budget'],
    });
  });

  it('refuses a default budget in which nothing could start, where it is taken', async () => {
    await expectFailure({
      app: { ...on(Budget()), options: { minRemaining: '20ms', defaults: { budget: '20ms' } } },
      says: ['Resilience decorators on Shop.list: budget: 20 ms are not more', 'minRemaining', 'Raise the budget'],
    });
  });

  it('refuses a bare @Budget() when nobody says how long', async () => {
    await expectFailure({
      app: on(Budget()),
      says: [
        'Resilience decorators on Shop.list: budget:',
        '@Budget() has no duration',
        'defaults.budget',
        "@Budget('2s')",
      ],
    });
  });

  it('accepts a bare @Budget() whose duration a preset, the class or a default gives', async () => {
    const ofClass = shopWith(Budget());
    Budget('3s')(ofClass);
    const ofPreset = shopWith(Budget(), Resilience('carrier'));
    const presets = { carrier: { budget: '3s' } } as const;
    const quiet = { error: undefined, listening: true, warnings: [] };

    expect(await boot({ controllers: [ofClass] })).toMatchObject(quiet);
    expect(await boot({ controllers: [ofPreset], options: { presets } })).toMatchObject(quiet);
    expect(await boot({ ...on(Budget()), options: { defaults: { budget: '3s' } } })).toMatchObject(quiet);
  });

  it('refuses a bare @Timeout() when nobody says how long', async () => {
    await expectFailure({
      app: on(Timeout()),
      says: ['Resilience decorators on Shop.list: timeout:', '@Timeout() has no duration', "@Timeout('2s')"],
    });
  });

  it('refuses a bare @Timeout() below a preset without a timeout', async () => {
    await expectFailure({
      app: {
        controllers: [shopWith(Timeout(), Resilience('carrier'))],
        options: { presets: { carrier: { retry: 2 } } },
      },
      says: ['Resilience decorators on Shop.list: timeout:', '@Timeout() has no duration', "@Timeout('2s')"],
    });
  });
});

describe('presets', () => {
  it('that do not exist are refused, with those that do', async () => {
    await expectFailure({
      app: {
        controllers: [shopWith(Resilience('carier'))],
        options: { presets: { carrier: { timeout: '2s' }, partner: {} } },
      },
      says: [
        'Resilience decorators on Shop.list: ',
        'Unknown preset "carier"',
        'Known: carrier, partner.',
        'Did you mean "carrier"?',
      ],
    });
  });
});

describe('a fallback by name', () => {
  it('has to be a method of the class', async () => {
    await expectFailure({
      app: { controllers: [shopWith(Fallback('flatRates') as never)] },
      says: ['Resilience decorators on Shop.list: fallback:', 'no method "flatRates"', 'use a function'],
    });
  });

  it('may not be a getter or a property', async () => {
    const Shop = shopWith(Fallback('total') as never);
    Object.defineProperty(Shop.prototype, 'total', { get: () => () => 5 });

    await expectFailure({
      app: { controllers: [Shop] },
      says: ['Shop.list: fallback:', 'no method "total"', 'use a function'],
    });
  });

  const scoped: [string, Scope | undefined, Provider[]][] = [
    ['a request-scoped class', Scope.REQUEST, []],
    ['a transient class', Scope.TRANSIENT, []],
  ];

  it.each(scoped)('cannot be on %s, which has no instance to call', async (_case, scope) => {
    @Controller({ path: 'shop', ...(scope !== undefined && { scope }) })
    class Shop {
      @Get()
      @Fallback('flat')
      list(): void {}

      flat(): void {}
    }

    await expectFailure({
      app: { controllers: [Shop] },
      says: ['Resilience decorators on Shop.list: fallback:', '"flat" is a method of Shop', 'Use a function'],
    });
  });

  it('cannot be on a class that depends on something request-scoped', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Cart {}

    @Controller('shop')
    class Shop {
      constructor(@Inject(Cart) readonly cart: Cart) {}

      @Get()
      @Fallback('flat')
      list(): void {}

      flat(): void {}
    }

    await expectFailure({
      app: { controllers: [Shop], providers: [Cart] },
      says: ['Resilience decorators on Shop.list: fallback:', '"flat" is a method of Shop', 'Use a function'],
    });
  });

  it('may be a function there', async () => {
    @Controller({ path: 'shop', scope: Scope.REQUEST })
    class Shop {
      @Get()
      @Fallback(() => [])
      list(): void {}
    }

    expect(await boot({ controllers: [Shop] })).toMatchObject({ error: undefined, listening: true });
  });
});

describe('one name, two configurations', () => {
  function twoHandlers(one: MethodDecorator, other: MethodDecorator): Type {
    @Controller('shop')
    class Shop {
      @Get('one')
      one(): void {}

      @Get('two')
      two(): void {}
    }
    apply([one], Shop, 'one');
    apply([other], Shop, 'two');

    return Shop;
  }

  it('is refused between handlers, with both places and values', async () => {
    await expectFailure({
      app: {
        controllers: [
          twoHandlers(
            CircuitBreaker({ name: 'carrier', minimumCalls: 5 }),
            CircuitBreaker({ name: 'carrier', minimumCalls: 6 }),
          ),
        ],
      },
      says: ['Circuit breaker "carrier"', 'minimumCalls is 5 in Shop.one and 6 in Shop.two', 'a name of its own'],
    });
  });

  it('is refused between handlers of a bulkhead', async () => {
    await expectFailure({
      app: {
        controllers: [
          twoHandlers(Bulkhead({ name: 'export', maxQueue: 5 }), Bulkhead({ name: 'export', maxConcurrent: 2 })),
        ],
      },
      says: ['Bulkhead "export"', 'maxQueue is 5 in Shop.one and not set in Shop.two', 'Make both the same'],
    });
  });

  it('is refused between presets', async () => {
    await expectFailure({
      app: options({
        presets: {
          a: { circuitBreaker: { name: 'shared', openDuration: '30s' } },
          b: { circuitBreaker: { name: 'shared', openDuration: '31s' } },
        },
      }),
      says: [
        'Circuit breaker "shared"',
        'openDuration is "30s" in presets.a and "31s" in presets.b',
        'Make both the same',
      ],
    });
  });

  it('is refused between presets of a rate limit', async () => {
    await expectFailure({
      app: options({
        presets: {
          a: { outboundRateLimit: { name: 'shared', limit: 5, interval: '1s' } },
          b: { outboundRateLimit: { name: 'shared', limit: 6, interval: '1s' } },
        },
      }),
      says: ['Outbound rate limit "shared"', 'limit is 5 in presets.a and 6 in presets.b', 'Make both the same'],
    });
  });

  it('is refused between a preset and a handler', async () => {
    await expectFailure({
      app: {
        controllers: [shopWith(Bulkhead({ name: 'carrier', maxConcurrent: 3 }))],
        options: { presets: { carrier: { bulkhead: { maxConcurrent: 2 } } } },
      },
      says: ['Bulkhead "carrier"', 'maxConcurrent is 2 in presets.carrier and 3 in Shop.list', 'a name of its own'],
    });
  });

  it("is refused where a handler refines a preset's breaker, which is everybody's", async () => {
    await expectFailure({
      app: {
        controllers: [shopWith(CircuitBreaker({ minimumCalls: 5 }), Resilience('carrier'))],
        options: { presets: { carrier: { timeout: '1s', circuitBreaker: {} } } },
      },
      says: [
        'Circuit breaker "carrier"',
        'minimumCalls is not set in presets.carrier and 5 in Shop.list',
        'a name of its own',
      ],
    });
  });

  it('is refused where one spells a default out and the other does not', async () => {
    await expectFailure({
      app: {
        controllers: [
          twoHandlers(
            Bulkhead({ name: 'export', maxQueue: 1 }),
            Bulkhead({ name: 'export', maxQueue: 1, maxConcurrent: 10 }),
          ),
        ],
      },
      says: ['Bulkhead "export"', 'maxConcurrent is not set in Shop.one and 10 in Shop.two', 'Make both the same'],
    });
  });

  it('is legal where both mean the same', async () => {
    const recordIf = () => true;
    const one = CircuitBreaker({
      name: 'x',
      openDuration: '30s',
      recordIf,
      slidingWindow: { type: 'time', size: '1m' },
    });
    const two = CircuitBreaker({
      slidingWindow: { type: 'time', size: 60_000 },
      recordIf,
      openDuration: 30_000,
      name: 'x',
      minimumCalls: undefined,
    });
    const Shop = twoHandlers(one, two);
    Timeout('1s')(Shop);

    expect(await boot({ controllers: [Shop] })).toMatchObject({ error: undefined, listening: true, warnings: [] });
  });

  it('is refused where two functions only look alike', async () => {
    await expectFailure({
      app: {
        controllers: [
          twoHandlers(
            CircuitBreaker({ name: 'x', recordIf: () => true }),
            CircuitBreaker({ name: 'x', recordIf: () => true }),
          ),
        ],
      },
      says: ['Circuit breaker "x"', 'recordIf is function recordIf in Shop.one', 'Make both the same'],
    });
  });

  it('is refused when it comes after the policy was made', async () => {
    @Injectable()
    class Repricing {
      constructor(resilience: ResilienceService) {
        resilience.create({ timeout: '1s', circuitBreaker: 'carrier' }, 'repricing');
      }
    }

    await expectFailure({
      app: { controllers: [shopWith(CircuitBreaker({ name: 'carrier', minimumCalls: 5 }))], providers: [Repricing] },
      says: [
        'Circuit breaker "carrier" is configured by Shop.list (minimumCalls: 5)',
        'create(…, "repricing") has already created it',
        'Configure it in a preset, or build that policy later',
      ],
    });
  });

  it('is refused between two classes of one name whose handlers would share what belongs to each', async () => {
    const one = shopWith(Bulkhead({ maxConcurrent: 2 }));
    const two = shopWith(Bulkhead({ maxConcurrent: 2 }));

    await expectFailure({
      app: { controllers: [one, two] },
      says: [
        'Two classes are called Shop',
        'Shop.list of both has a bulkhead without a name',
        'Give one of them a name',
      ],
    });
  });
});

describe('names that nobody configures', () => {
  const configured = { presets: { carrier: { timeout: '1s', circuitBreaker: {}, bulkhead: {} } } } as const;

  it('are refused when they must be a slip of the pen', async () => {
    await expectFailure({
      app: { controllers: [shopWith(CircuitBreaker('carier'))], options: configured },
      says: [
        'Circuit breaker "carier", used by Shop.list, is configured nowhere',
        'Did you mean "carrier"?',
        'choose a name',
      ],
    });
  });

  it('are refused for bulkheads too', async () => {
    await expectFailure({
      app: { controllers: [shopWith(Bulkhead({ name: 'carriers' }))], options: configured },
      says: [
        'Bulkhead "carriers", used by Shop.list, is configured nowhere',
        'Did you mean "carrier"?',
        'configure it',
      ],
    });
  });

  it('are refused in a preset', async () => {
    await expectFailure({
      app: options({ presets: { ...configured.presets, other: { circuitBreaker: 'carrierr' } } }),
      says: ['Circuit breaker "carrierr", used by presets.other', 'Did you mean "carrier"?', 'configure it'],
    });
  });

  it('are all refused when names are strict', async () => {
    const Shop = shopWith(CircuitBreaker('redis'));

    await expectFailure({
      app: { controllers: [Shop], options: { ...configured, strictNames: true } },
      says: ['Circuit breaker "redis", used by Shop.list', 'Configured: carrier.', 'strictNames is on'],
    });
  });

  it('are refused for rate limits, which have no default', async () => {
    await expectFailure({
      app: options({ presets: { carrier: { outboundRateLimit: 'partner' } } }),
      says: [
        'Outbound rate limit "partner"',
        'presets.carrier',
        'has no configuration',
        "{ limit: 10, interval: '1s' }",
      ],
    });
  });
});

describe('the registration', () => {
  it('is a call of forRoot() or forRootAsync()', async () => {
    const { message } = await failureOf({ imports: [ResilienceModule] });

    expect(message).toBe(
      'ResilienceModule is imported without options. Import ResilienceModule.forRoot() or forRootAsync() once, in the ' +
        'root module; it is global, so other modules need not import it.',
    );
  });

  it('is not repeated in a module of a feature, with options or without', async () => {
    await expectFailure({
      app: { imports: [ResilienceModule.forRoot(), ResilienceModule] },
      says: ['ResilienceModule is imported without options', 'in the root module'],
    });
  });

  it('happens once', async () => {
    await expectFailure({
      app: { imports: [ResilienceModule.forRoot(), ResilienceModule.forRoot({ defaults: { timeout: '1s' } })] },
      says: ['ResilienceModule is registered 2 times', 'Call forRoot() or forRootAsync() once, in the root module'],
    });
  });

  it('decides about isGlobal outside of the factory', async () => {
    await expectFailure({
      app: { imports: [ResilienceModule.forRootAsync({ useFactory: () => ({ isGlobal: false }) })] },
      says: ['isGlobal: false', 'Put it beside the factory', 'ResilienceModule.forRootAsync({ isGlobal: false'],
    });
  });

  it.each([
    [{ useFactori: () => ({}) }, ['useFactori:', 'Did you mean "useFactory"?']],
    [{}, ['was given nothing that makes the options', '{ useFactory, inject }']],
    [undefined, ['expected an options object, got undefined', '{ useFactory, inject }']],
    [{ useFactory: () => ({}), isGlobal: 'no' }, ['isGlobal:', 'got "no"', 'true or false']],
    [
      { useFactory: () => ({}), mapErrors: false },
      ['ResilienceModule.mapErrors: unknown option. Known options: imports'],
    ],
  ])('refuses forRootAsync(%o)', (given, says) => {
    const register = () => ResilienceModule.forRootAsync(given as never);

    for (const part of says) expect(register).toThrow(part);
  });

  it('refuses options that are no object', () => {
    expect(() => ResilienceModule.forRoot(null as never)).toThrow('expected an options object, got null');
  });
});

describe('a message handler', () => {
  it('is checked like a route', async () => {
    @Controller()
    class Shop {
      @MessagePattern('list')
      @Timeout('soon' as never)
      list(): void {}
    }

    await expectFailure({
      app: { controllers: [Shop] },
      says: ['Resilience decorators on Shop.list: timeout:', '"soon"', "'1.5s'"],
    });
  });
});
