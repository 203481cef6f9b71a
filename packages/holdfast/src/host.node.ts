import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import { channel, type Channel } from 'node:diagnostics_channel';
import { EVENT_TYPES } from './event-types.js';
import type { ResilienceEvent } from './events.js';
import type { Host } from './host.web.js';
import type { Scope } from './scope.js';

const STORAGE = Symbol.for('holdfast.scope.1');

/** One storage for all copies of the engine in this process, so that they inherit each other's attempts. */
const storage = ((globalThis as Record<symbol, unknown>)[STORAGE] ??=
  new AsyncLocalStorage<Scope>()) as AsyncLocalStorage<Scope>;

/**
 * Opened at once and held for good: Node forgets a channel that nobody holds, and, when its collection is finished
 * late, also the next one of that name, with whoever has subscribed to that meanwhile.
 */
const channels = new Map<string, Channel>(EVENT_TYPES.map((type) => [type, channel(`holdfast:${type}`)]));

function channelOf(type: ResilienceEvent['type']): Channel {
  return channels.get(type) as Channel;
}

/** From Node 24 on, the stores of running code stand together in one frame, which `run()` copies twice. */
const hasFrames = Number.parseInt(process.versions.node, 10) >= 24;

/** As `storage.run()`, with one copy: the resource brings the frame back that it was made in. */
function runInFrame<T, R>(scope: Scope, enter: (target: T, scope: Scope) => R, target: T): R {
  return new AsyncResource('HoldfastAttempt').runInAsyncScope(enterFrame<T, R>, undefined, scope, enter, target);
}

function enterFrame<T, R>(scope: Scope, enter: (target: T, scope: Scope) => R, target: T): R {
  storage.enterWith(scope);

  return enter(target, scope);
}

export const host: Host = {
  currentScope: () => storage.getStore(),
  runInScope: hasFrames ? runInFrame : (scope, enter, target) => storage.run(scope, enter, target, scope),
  hasSubscribers: (type) => channelOf(type).hasSubscribers,
  publish: (event) => channelOf(event.type).publish(event),
  afterPendingInput: (callback) => void setImmediate(callback),
};
