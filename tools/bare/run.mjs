// Runs the engine's suite where there is no `process`, `Buffer` or `require`, and where timers return numbers: each
// file in a context of its own. Prints the outcomes as JSON; started as a process of its own.
import { writeFileSync } from 'node:fs';
import { createContext, runInContext } from 'node:vm';
import { bundle, testFiles } from './bundle.mjs';

/** Timers as browsers have them. */
function numberedTimers() {
  /** @type {Map<number, NodeJS.Timeout>} */
  const pending = new Map();
  let last = 0;

  return {
    /** @param {(...args: unknown[]) => void} callback @param {number} delay @param {unknown[]} args */
    setTimeout(callback, delay, ...args) {
      const id = ++last;
      const fire = () => {
        pending.delete(id);
        callback(...args);
      };
      pending.set(id, setTimeout(fire, delay));
      return id;
    },
    /** @param {number} id */
    clearTimeout(id) {
      clearTimeout(pending.get(id));
      pending.delete(id);
    },
  };
}

/** The web platform, and nothing of Node's. */
function bareContext() {
  const web = { AbortController, AbortSignal, DOMException, Event, EventTarget, TextDecoder, TextEncoder, URL };
  const functions = { queueMicrotask, structuredClone };
  return createContext({ ...web, ...functions, ...numberedTimers(), performance, console: quietConsole() });
}

/** Tests that expect output take it over with a spy; what is left belongs to nobody's report. */
function quietConsole() {
  return Object.fromEntries(['debug', 'error', 'info', 'log', 'trace', 'warn'].map((method) => [method, () => {}]));
}

/**
 * @param {string} path
 * @param {string} script
 */
async function outcomesOf(path, script) {
  const context = bareContext();
  // A context has its own `Error`, of which the platform's exceptions are to be instances, as anywhere else.
  Object.setPrototypeOf(DOMException.prototype, runInContext('Error.prototype', context));
  runInContext(script, context, { filename: path });
  return runInContext('bundle.outcomes()', context);
}

/** @type {Record<string, unknown>} */
const outcomes = {};
for (const [path, script] of await bundle(testFiles())) outcomes[path] = await outcomesOf(path, script);

const platform = runInContext(
  `({ process: typeof process, Buffer: typeof Buffer, require: typeof require, timer: typeof setTimeout(() => {}, 0) })`,
  bareContext(),
);
writeFileSync(1, JSON.stringify({ outcomes, platform }));
process.exit(0);
