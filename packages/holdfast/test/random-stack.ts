import fc from 'fast-check';
import type { Work } from '../src/execution.js';
import {
  BulkheadPolicy,
  CircuitBreakerPolicy,
  FallbackPolicy,
  OutboundRateLimitPolicy,
  ResiliencePolicy,
  RetryPolicy,
  TimeoutPolicy,
  type AttemptContext,
  type ResilienceListener,
} from '../src/index.js';

export type StageRecipe =
  | { readonly kind: 'retry'; readonly attempts: number; readonly delay: number; readonly onResult: boolean }
  | { readonly kind: 'timeout'; readonly timeout: number; readonly asFunction: boolean }
  | { readonly kind: 'breaker'; readonly minimumCalls: number; readonly slowCallDuration?: number }
  | {
      readonly kind: 'bulkhead';
      readonly maxConcurrent: number;
      readonly maxQueue: number;
      readonly queueTimeout: number;
    }
  | { readonly kind: 'rate limit'; readonly limit: number; readonly maxWait: number }
  | { readonly kind: 'fallback'; readonly answer: 'value' | 'promise' | 'throw' | 'slow' };

const kind = <K extends string>(name: K): fc.Arbitrary<K> => fc.constant(name);

export const stageRecipe: fc.Arbitrary<StageRecipe> = fc.oneof(
  fc.record({
    kind: kind('retry'),
    attempts: fc.integer({ min: 1, max: 4 }),
    delay: fc.nat(15),
    onResult: fc.boolean(),
  }),
  fc.record({ kind: kind('timeout'), timeout: fc.integer({ min: 1, max: 40 }), asFunction: fc.boolean() }),
  fc.record(
    {
      kind: kind('breaker'),
      minimumCalls: fc.integer({ min: 1, max: 4 }),
      slowCallDuration: fc.integer({ min: 1, max: 30 }),
    },
    { requiredKeys: ['kind', 'minimumCalls'] },
  ),
  fc.record({
    kind: kind('bulkhead'),
    maxConcurrent: fc.integer({ min: 1, max: 3 }),
    maxQueue: fc.nat(3),
    queueTimeout: fc.integer({ min: 0, max: 30 }),
  }),
  fc.record({ kind: kind('rate limit'), limit: fc.integer({ min: 1, max: 4 }), maxWait: fc.constantFrom(0, 20, 100) }),
  fc.record({ kind: kind('fallback'), answer: fc.constantFrom('value', 'promise', 'throw', 'slow') }),
);

export const OPEN_DURATION = 10;
export const INTERVAL = 20;

/** Policies of random kinds around each other, and what may happen inside each of their callbacks. */
export class RandomStack {
  readonly policies: ResiliencePolicy[];
  readonly policy: ResiliencePolicy;
  /** Runs in every callback that a user could have written: predicates, functions, handlers and listeners. */
  inCallback: () => void = () => {};
  /** Hears each event before a callback can answer it. */
  onEvent: ResilienceListener = () => {};
  /** How a handler that answers slowly answers. */
  slowAnswer: Work = () => 'slow fallback';

  constructor(recipes: readonly StageRecipe[], extra: readonly ResiliencePolicy[] = []) {
    this.policies = [...recipes.map((recipe) => this.build(recipe)), ...extra];
    this.policy = ResiliencePolicy.wrap(...this.policies);
    this.policy.subscribe((event) => {
      this.onEvent(event);
      this.inCallback();
    });
  }

  of<T extends ResiliencePolicy>(Kind: new (...args: never[]) => T): T[] {
    return this.policies.filter((policy): policy is T => policy instanceof Kind);
  }

  private build(recipe: StageRecipe): ResiliencePolicy {
    const say = <T>(answer: T): T => (this.inCallback(), answer);
    switch (recipe.kind) {
      case 'retry':
        return new RetryPolicy({
          attempts: recipe.attempts,
          backoff: () => say(recipe.delay),
          retryIf: () => say(true),
          retryOnResult: () => say(recipe.onResult),
        });
      case 'timeout':
        return new TimeoutPolicy(recipe.asFunction ? () => say(recipe.timeout) : recipe.timeout);
      case 'breaker': {
        const { minimumCalls, slowCallDuration } = recipe;
        return new CircuitBreakerPolicy({
          minimumCalls,
          slowCallDuration,
          openDuration: OPEN_DURATION,
          recordIf: () => say(true),
        });
      }
      case 'bulkhead': {
        const { maxConcurrent, maxQueue, queueTimeout } = recipe;
        return new BulkheadPolicy({ maxConcurrent, maxQueue, queueTimeout });
      }
      case 'rate limit':
        return new OutboundRateLimitPolicy({ limit: recipe.limit, interval: INTERVAL, maxWait: recipe.maxWait });
      case 'fallback':
        return new FallbackPolicy((_error, context) => this.answer(say(recipe.answer), context), {
          handleIf: () => say(true),
        });
    }
  }

  private answer(how: 'value' | 'promise' | 'throw' | 'slow', context: AttemptContext): unknown {
    if (how === 'throw') throw new Error('no fallback');
    if (how === 'slow') return this.slowAnswer(context);

    return how === 'promise' ? Promise.resolve('fallback') : 'fallback';
  }
}
