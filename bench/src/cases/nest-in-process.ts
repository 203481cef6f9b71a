import { PassThroughModule } from '../nest/pass-through-app.js';
import { QUOTES_TIMEOUT_MS, ResilientModule } from '../nest/resilient-app.js';
import { routeOf } from '../nest/route-callbacks.js';
import { answerAtOnce, type Sides } from '../sides.js';

/** A route without decorators: what it costs an application to have the module at all. */
export async function undecoratedRoute(): Promise<Sides> {
  return {
    ours: await routeOf(ResilientModule, '/shipping/flat-rates'),
    other: await routeOf(PassThroughModule, '/shipping/flat-rates'),
    bare: answerAtOnce,
  };
}

/** The quotes route of the documentation: preset with timeout, retry and breaker, fallback, signal asked for. */
export async function quotesRoute(): Promise<Sides> {
  return {
    ours: await routeOf(ResilientModule, '/shipping/quotes'),
    other: await routeOf(PassThroughModule, '/shipping/quotes'),
    bare: answerAtOnce,
    pendingMs: [QUOTES_TIMEOUT_MS],
  };
}
