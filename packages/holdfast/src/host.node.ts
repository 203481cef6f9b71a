import { AsyncLocalStorage } from 'node:async_hooks';
import { channel, type Channel } from 'node:diagnostics_channel';
import type { ResilienceEvent } from './events.js';
import type { Host } from './host.web.js';
import type { Scope } from './scope.js';

const STORAGE = Symbol.for('holdfast.scope.1');

/** One storage for all copies of the engine in this process, so that they inherit each other's attempts. */
const storage = ((globalThis as Record<symbol, unknown>)[STORAGE] ??=
  new AsyncLocalStorage<Scope>()) as AsyncLocalStorage<Scope>;

const channels = new Map<string, Channel>();

function channelOf(type: string): Channel {
  let found = channels.get(type);
  if (found === undefined) {
    found = channel(`holdfast:${type}`);
    channels.set(type, found);
  }

  return found;
}

export const host: Host = {
  currentScope: () => storage.getStore(),
  runInScope: (scope, enter, target) => storage.run(scope, enter, target, scope),
  hasSubscribers: (type: ResilienceEvent['type']) => channelOf(type).hasSubscribers,
  publish: (event) => channelOf(event.type).publish(event),
  afterPendingInput: (callback) => void setImmediate(callback),
};
