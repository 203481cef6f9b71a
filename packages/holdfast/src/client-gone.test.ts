import { describe, expect, it, vi } from 'vitest';
import { clientGone, onClientGone, type ServedResponse } from './client-gone.js';
import { ClientDisconnectedError } from './errors.js';

/** Something that closes, and knows who waits for that. */
class Closing {
  destroyed = false;
  readonly listeners: (() => void)[] = [];

  on(_event: 'close', listener: () => void): void {
    this.listeners.push(listener);
  }

  off(_event: 'close', listener: () => void): void {
    const index = this.listeners.indexOf(listener);
    if (index >= 0) this.listeners.splice(index, 1);
  }

  close(): void {
    this.destroyed = true;
    for (const listener of [...this.listeners]) listener();
  }
}

class Response extends Closing implements ServedResponse {
  writableEnded = false;
  writableFinished = false;
  socket: unknown;

  constructor(socket: unknown) {
    super();
    this.socket = socket;
  }

  send(): void {
    this.writableEnded = true;
    this.writableFinished = true;
    this.close();
  }
}

function exchange(): { socket: Closing; request: { socket: Closing }; response: Response } {
  const socket = new Closing();

  return { socket, request: { socket }, response: new Response(socket) };
}

describe('the signal of a request', () => {
  it('aborts when the response closes before it was sent', () => {
    const { request, response } = exchange();
    const signal = clientGone(request, response);
    expect(signal.aborted).toBe(false);
    response.close();

    expect(signal.reason).toBeInstanceOf(ClientDisconnectedError);
    expect(signal.reason).toMatchObject({ code: 'CLIENT_CLOSED_REQUEST', policy: 'client-gone' });
    expect(response.listeners).toEqual([]);
  });

  it('aborts also when the answer was complete, but had not left', () => {
    const { request, response } = exchange();
    const signal = clientGone(request, response);
    response.writableEnded = true;
    response.close();

    expect(signal.aborted).toBe(true);
  });

  it('never aborts once the answer has left, and nobody listens any more', () => {
    const { request, response, socket } = exchange();
    const signal = clientGone(request, response);
    response.send();
    socket.close();

    expect(signal.aborted).toBe(false);
    expect([response.listeners, socket.listeners]).toEqual([[], []]);
  });

  it.each<[string, (parts: ReturnType<typeof exchange>) => object]>([
    ['its response', ({ response }) => Object.assign(response, { destroyed: true })],
    ['its stream', ({ response }) => Object.assign(response, { stream: { destroyed: true } })],
    ['its socket', ({ socket }) => Object.assign(socket, { destroyed: true })],
  ])('has aborted when the client had left before, as %s tells', (_what, leave) => {
    const parts = exchange();
    leave(parts);
    const signal = clientGone(parts.request, parts.response);

    expect(signal.reason).toBeInstanceOf(ClientDisconnectedError);
    expect([parts.response.listeners, parts.socket.listeners]).toEqual([[], []]);
  });

  it('has not when its answer had left before the client did', () => {
    const { request, response, socket } = exchange();
    response.send();
    socket.close();

    expect(clientGone(request, response).aborted).toBe(false);
    expect(response.listeners).toEqual([]);
  });

  it('aborts when a response that waits for its turn on the socket is never to have it', () => {
    const { request, socket } = exchange();
    const queued = Array.from({ length: 20 }, () => new Response(null));
    const signals = queued.map((response) => clientGone(request, response));
    expect(socket.listeners).toHaveLength(1);
    queued[0]?.send();
    socket.close();

    expect(signals.map(({ aborted }) => aborted)).toEqual([false, ...new Array<boolean>(19).fill(true)]);
    expect(queued.flatMap(({ listeners }) => listeners)).toEqual([]);
    expect(socket.listeners).toEqual([]);
  });

  it('leaves no listener when those that waited have had their turn', () => {
    const { request, socket } = exchange();
    const queued = [new Response(null), new Response(null)];
    queued.forEach((response) => clientGone(request, response));
    queued.forEach((response) => response.send());

    expect(socket.listeners).toEqual([]);
  });
});

describe('watching for a client that leaves', () => {
  it('calls back once', () => {
    const { request, response, socket } = exchange();
    response.socket = null;
    const callback = vi.fn();
    onClientGone(request, response, callback);
    response.close();
    socket.close();

    expect(callback).toHaveBeenCalledTimes(1);
  });

  it('can be stopped', () => {
    const { request, response, socket } = exchange();
    response.socket = null;
    const callback = vi.fn();
    const stop = onClientGone(request, response, callback);
    stop();
    stop();
    expect([response.listeners, socket.listeners]).toEqual([[], []]);
    response.close();

    expect(callback).not.toHaveBeenCalled();
  });

  it('needs no socket', () => {
    const { response } = exchange();
    response.socket = null;
    const callback = vi.fn();
    onClientGone({ socket: undefined }, response, callback);
    response.close();

    expect(callback).toHaveBeenCalledTimes(1);
  });
});
