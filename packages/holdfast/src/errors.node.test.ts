import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import * as errors from './errors.js';
import * as engine from './index.js';

/** The package, with the classes that only its siblings are given. */
const here = { ...engine, ...errors };

type Engine = typeof here;

/** A second copy of the package, as a second version in `node_modules` would be. */
async function loadCopy(): Promise<Engine> {
  vi.resetModules();
  return { ...(await import('./index.js')), ...(await import('./errors.js')) };
}

describe('two copies of the engine in one process', () => {
  let copy: Engine;
  beforeAll(async () => {
    copy = await loadCopy();
  });

  it('are two', () => {
    expect(copy.ResilienceTimeoutError).not.toBe(here.ResilienceTimeoutError);
    expect(new copy.ResilienceTimeoutError(5, 'x')).not.toBeInstanceOf(
      class Derived extends here.ResilienceTimeoutError {},
    );
  });

  it.each([
    ['ResilienceTimeoutError', () => new copy.ResilienceTimeoutError(5, 'x'), ['ResilienceError']],
    ['CircuitOpenError', () => new copy.CircuitOpenError('x', 5), ['RejectionError', 'ResilienceError']],
    ['BulkheadFullError', () => new copy.BulkheadFullError('x', 'full'), ['RejectionError', 'ResilienceError']],
    ['OutboundRateLimitError', () => new copy.OutboundRateLimitError('x', 5), ['RejectionError', 'ResilienceError']],
    ['DeadlineExceededError', () => new copy.DeadlineExceededError(5, 'x'), ['ResilienceError']],
    ['ClientDisconnectedError', () => new copy.ClientDisconnectedError('x'), ['ResilienceError']],
    ['SiblingFailedError', () => new copy.SiblingFailedError('product', 'x'), ['ResilienceError']],
  ] as const)('recognise %s of each other', (name, make, bases) => {
    const kinds = [
      'ResilienceError',
      'RejectionError',
      'ResilienceTimeoutError',
      'CircuitOpenError',
      'BulkheadFullError',
      'OutboundRateLimitError',
      'DeadlineExceededError',
      'ClientDisconnectedError',
      'SiblingFailedError',
    ] as const;
    const error = make();

    expect(kinds.filter((kind) => error instanceof here[kind]).toSorted()).toEqual([name, ...bases].toSorted());
  });

  it('do not retry refusals of each other', async () => {
    const retryIf = vi.fn(() => true);
    const refuse = vi.fn(() => Promise.reject(new copy.CircuitOpenError('x', 5)));

    await expect(new here.RetryPolicy({ retryIf }).execute(refuse)).rejects.toMatchObject({ code: 'CIRCUIT_OPEN' });
    expect(refuse).toHaveBeenCalledTimes(1);
    expect(retryIf).not.toHaveBeenCalled();
  });

  it('share the ambient attempt', async () => {
    const controller = new AbortController();
    const reason = new Error('the caller left');
    let inside: Promise<unknown> | undefined;
    const outer = new here.RetryPolicy(2).execute(
      () => (inside = new copy.BulkheadPolicy().execute(() => new Promise(() => {}))),
      { signal: controller.signal },
    );
    controller.abort(reason);

    await expect(outer).rejects.toBe(reason);
    await expect(inside).rejects.toBe(reason);
  });
});

describe('a network error as Node makes it', () => {
  let port: number;
  beforeAll(async () => {
    port = await unusedPort();
  });

  it('of fetch, when nobody listens', async () => {
    const error: unknown = await fetch(`http://127.0.0.1:${port}/`).catch((reason: unknown) => reason);

    expect(error).toBeInstanceOf(TypeError);
    expect(here.isNetworkError(error)).toBe(true);
  });

  it('of fetch, when the connection is cut', async () => {
    const server = createServer((socket) => void socket.once('data', () => socket.destroy()));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port: cutting } = server.address() as { port: number };
    const error: unknown = await fetch(`http://127.0.0.1:${cutting}/`).catch((reason: unknown) => reason);
    await new Promise((resolve) => server.close(resolve));

    expect(here.isNetworkError(error)).toBe(true);
  });

  it('is not an abort of fetch', async () => {
    const error: unknown = await fetch(`http://127.0.0.1:${port}/`, { signal: AbortSignal.abort() }).catch(
      (reason: unknown) => reason,
    );

    expect(error).toBeInstanceOf(DOMException);
    expect(here.isNetworkError(error)).toBe(false);
  });

  it('is not an invalid URL', async () => {
    const error: unknown = await fetch('http://[').catch((reason: unknown) => reason);

    expect(error).toBeInstanceOf(TypeError);
    expect(here.isNetworkError(error)).toBe(false);
  });
});

/** A port of which it is known that nobody listens there. */
async function unusedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));

  return port;
}

afterAll(() => vi.resetModules());
