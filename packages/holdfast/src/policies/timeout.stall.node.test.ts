import { Agent, get, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { outcomeOf } from '../../test/outcome.js';
import type { AttemptContext } from '../index.js';
import { ResilienceTimeoutError } from '../errors.js';
import { ResiliencePolicy } from '../policy.js';
import { EventRecorder } from '../testing/index.js';
import { CircuitBreakerPolicy } from './circuit-breaker.js';
import { TimeoutPolicy } from './timeout.js';

// The platform is the subject here: real time, a real socket, and a server on an event loop of its own.
const SERVER = `
  const { createServer } = require('node:http');
  const { parentPort } = require('node:worker_threads');
  const server = createServer((request, response) => {
    const after = Number(request.url.slice(1));
    if (after > 0) setTimeout(() => response.end('answer'), after);
  });
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
`;

const PATIENCE = { timeout: 4_000 };

let server: Worker;
let port: number;
const agent = new Agent({ keepAlive: true });

beforeAll(async () => {
  server = new Worker(SERVER, { eval: true });
  [port] = (await once(server, 'message')) as [number];
});
afterAll(async () => {
  agent.destroy();
  await server.terminate();
});

/** Asks the server, which answers after so many milliseconds; never, after 0. */
const ask =
  (after: number) =>
  ({ signal }: AttemptContext): Promise<string> =>
    new Promise((resolve, reject) => {
      const request = get(
        { port, host: '127.0.0.1', path: `/${after}`, agent, signal },
        (response: IncomingMessage) => {
          let text = '';
          response.on('data', (chunk: Buffer) => (text += chunk.toString()));
          response.on('end', () => resolve(text));
        },
      );
      request.on('error', reject);
    });

/** Holds the event loop from `begin` to `end`, in milliseconds from now, right before timers have their turn. */
function hold(begin: number, end: number): void {
  const from = performance.now();
  const spin = (): void => {
    while (performance.now() - from < end);
  };
  setTimeout(() => setImmediate(spin), begin);
}

function limited(): { breaker: CircuitBreakerPolicy; policy: ResiliencePolicy; recorder: EventRecorder } {
  const breaker = new CircuitBreakerPolicy({ minimumCalls: 1 });
  const policy = ResiliencePolicy.wrap(breaker, new TimeoutPolicy(150));

  return { breaker, policy, recorder: new EventRecorder(policy) };
}

describe('an event loop that is held beyond a limit', () => {
  it('costs no answer that has arrived meanwhile', async () => {
    await ask(1)({ signal: new AbortController().signal, attempt: 1 });
    const { breaker, policy, recorder } = limited();
    const call = policy.execute(ask(60));
    hold(20, 800);

    await expect(call).resolves.toBe('answer');
    expect(recorder.events).toEqual([]);
    expect(breaker.stats).toMatchObject({ total: 1, failures: 0 });
  });

  it('costs none that is read with fetch either', async () => {
    await fetch(`http://127.0.0.1:${port}/1`).then((response) => response.text());
    const { policy } = limited();
    const call = policy.execute(async ({ signal }) => {
      const response = await fetch(`http://127.0.0.1:${port}/60`, { signal });
      return response.status;
    });
    hold(20, 800);

    await expect(call).resolves.toBe(200);
  });

  it('is no failure of a dependency that has not answered', async () => {
    const { breaker, policy, recorder } = limited();
    const call = outcomeOf(policy.execute(ask(0)));
    hold(20, 800);
    await expect.poll(() => call.state, PATIENCE).toBe('rejected');

    expect(call.value).toBeInstanceOf(ResilienceTimeoutError);
    expect(recorder.types).toEqual(['timeout']);
    expect(breaker.stats.total).toBe(0);
  });
});
