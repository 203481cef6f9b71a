import { BreakerModel } from './models/breaker.js';
import { BulkheadModel } from './models/bulkhead.js';
import { FallbackModel } from './models/fallback.js';
import { BudgetModel, TimeoutModel } from './models/limits.js';
import { RateLimitModel } from './models/rate-limit.js';
import { FLAW, RetryModel, says } from './models/retry.js';
/** Makes policies of recipes, each with its model and with callbacks that are watched. */
export class Builder {
    constructor(engine, watch, handler) {
        this.engine = engine;
        this.watch = watch;
        this.handler = handler;
        /** Objects of options that policies were made of, and what they were. */
        this.given = [];
    }
    build(recipe, at) {
        const name = `p${at}`;
        switch (recipe.kind) {
            case 'retry':
                return this.retry(recipe, new RetryModel({ watch: this.watch, name }, recipe));
            case 'timeout':
                return this.timeout(recipe, name);
            case 'budget':
                return {
                    model: new BudgetModel({ watch: this.watch, name }, recipe.ms),
                    policy: new this.engine.BudgetPolicy(this.options({ name, budget: recipe.ms })),
                };
            case 'breaker':
                return this.breaker(recipe, name);
            case 'bulkhead': {
                const { slots: maxConcurrent, queue: maxQueue, queueTimeout } = recipe;
                const options = this.options({
                    name,
                    maxConcurrent,
                    maxQueue,
                    queueTimeout,
                    ...(!recipe.holds && { holdUntilSettled: false }),
                });
                const policy = new this.engine.BulkheadPolicy(options);
                return { model: new BulkheadModel({ watch: this.watch, name }, recipe, policy), policy };
            }
            case 'rate limit': {
                const { limit, perToken, maxWait } = recipe;
                const options = this.options({ name, limit, interval: limit * perToken, maxWait });
                const policy = new this.engine.OutboundRateLimitPolicy(options);
                return { model: new RateLimitModel({ watch: this.watch, name }, recipe, policy), policy };
            }
            case 'fallback':
                return this.fallback(recipe, name);
        }
    }
    retry(recipe, model) {
        const { attempts, delay, factor, asFunction, onResult } = recipe;
        const wait = (failed) => this.call(model, () => delay * factor ** (failed - 1));
        const options = this.options({
            name: model.name,
            attempts,
            backoff: asFunction ? wait : { delay, factor, jitter: 'none' },
            ...(recipe.retryIf !== 'default' && { retryIf: this.predicate(model, recipe.retryIf) }),
            ...(onResult !== undefined && { retryOnResult: this.predicate(model, onResult) }),
        });
        return { model, policy: new this.engine.RetryPolicy(options) };
    }
    timeout({ ms, as }, name) {
        const learned = this.engine.adaptive({ initial: ms, min: 1, max: 200, samples: 2 });
        const model = new TimeoutModel({ watch: this.watch, name }, as === 'adaptive' ? learned : ms);
        const timeout = as === 'adaptive' ? learned : as === 'number' ? ms : () => this.call(model, () => ms);
        return { model, policy: new this.engine.TimeoutPolicy(this.options({ name, timeout })) };
    }
    breaker(recipe, name) {
        const model = { current: undefined };
        const options = this.options({
            name,
            failureRateThreshold: recipe.threshold,
            minimumCalls: recipe.minimumCalls,
            slidingWindow: this.options(recipe.window),
            openDuration: recipe.openMs,
            halfOpenMaxCalls: recipe.probes,
            probeLease: recipe.lease,
            consecutiveFailures: recipe.inARow,
            ...(recipe.recordIf !== 'default' && {
                recordIf: (error) => this.predicate(model.current, recipe.recordIf)(error),
            }),
        });
        const policy = new this.engine.CircuitBreakerPolicy(options);
        model.current = new BreakerModel({ watch: this.watch, name }, recipe, policy);
        return { model: model.current, policy };
    }
    fallback(recipe, name) {
        const model = new FallbackModel({ watch: this.watch, name }, recipe);
        const handler = (error, context) => this.handler(model, recipe, { error, context });
        const options = this.options({
            name,
            ...(recipe.handleIf !== 'default' && { handleIf: this.predicate(model, recipe.handleIf) }),
        });
        return { model, policy: new this.engine.FallbackPolicy(handler, options) };
    }
    predicate(model, says_) {
        return (value) => this.call(model, () => {
            if (says_ === 'throws')
                throw new Error(FLAW);
            return says(says_, value);
        });
    }
    /** Somebody may leave inside of any callback, and make the policy deal with other calls. */
    call(model, answer) {
        const { current } = model;
        this.watch.inCallback();
        model.current = current;
        return answer();
    }
    options(options) {
        this.given.push({ options, before: JSON.stringify(options) });
        return options;
    }
}
//# sourceMappingURL=build.js.map