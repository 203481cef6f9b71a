import { describe, expect, it, vi } from 'vitest';
import { clientGone, isClientGone, isSent, onClientGone, onClose, type ServedResponse } from './client-gone.js';
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

  send(): void {
    this.writableEnded = true;
    this.writableFinished = true;
    this.close();
  }
}

function exchange(): { socket: Closing; request: { socket: Closing }; response: Response } {
  const socket = new Closing();

  return { socket, request: { socket }, response: new Response() };
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
    const queued = Array.from({ length: 20 }, () => new Response());
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
    const queued = [new Response(), new Response()];
    queued.forEach((response) => clientGone(request, response));
    queued.forEach((response) => response.send());

    expect(socket.listeners).toEqual([]);
  });

  it('costs its response and its connection one listener, however often it is asked for', () => {
    const { request, response, socket } = exchange();
    const signals = Array.from({ length: 20 }, () => clientGone(request, response));
    expect([response.listeners.length, socket.listeners.length]).toEqual([1, 1]);
    socket.close();

    expect(signals.map(({ aborted }) => aborted)).toEqual(new Array<boolean>(20).fill(true));
    expect([response.listeners, socket.listeners]).toEqual([[], []]);
  });
});

describe('watching for a client that leaves', () => {
  it('leaves a response alone that has a connection', () => {
    const { request, response, socket } = exchange();
    const callback = vi.fn();
    onClientGone(request, response, callback);
    expect(response.listeners).toEqual([]);
    socket.close();

    expect(callback).toHaveBeenCalledTimes(1);
    expect(socket.listeners).toEqual([]);
  });

  it('looks at the stream with HTTP/2, whose socket many share', () => {
    const { request, response, socket } = exchange();
    const stream = new Closing();
    const callback = vi.fn();
    onClientGone(request, Object.assign(response, { stream }), callback);
    expect([socket.listeners, response.listeners, stream.listeners.length]).toEqual([[], [], 1]);
    stream.close();

    expect(callback).toHaveBeenCalledTimes(1);
    expect(stream.listeners).toEqual([]);
  });

  it('does not call who was stopped by one that was called before', () => {
    const { request, response, socket } = exchange();
    const second = vi.fn();
    onClientGone(request, response, () => stopSecond());
    const stopSecond = onClientGone(request, response, second);
    socket.close();

    expect(second).not.toHaveBeenCalled();
  });

  it('calls all others when one stops itself', () => {
    const { request, response, socket } = exchange();
    const callbacks = [vi.fn(), vi.fn(), vi.fn()];
    const [stopFirst] = callbacks.map((callback) => onClientGone(request, response, callback));
    stopFirst?.();
    socket.close();

    expect(callbacks.map(({ mock }) => mock.calls.length)).toEqual([0, 1, 1]);
  });

  it('calls back once', () => {
    const { request, response, socket } = exchange();
    const callback = vi.fn();
    onClientGone(request, response, callback);
    response.close();
    socket.close();

    expect(callback).toHaveBeenCalledTimes(1);
  });

  it('can be stopped', () => {
    const { request, response, socket } = exchange();
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
    const callback = vi.fn();
    onClientGone({ socket: undefined }, response, callback);
    response.close();

    expect(callback).toHaveBeenCalledTimes(1);
  });

  it.each<[string, object | undefined]>([
    ['its socket cannot be listened to', { socket: { destroyed: false } }],
    ['there is no request', undefined],
  ])('takes the word of the response when %s', (_why, request) => {
    const { response } = exchange();
    const callback = vi.fn();
    onClientGone(request as { socket: undefined } | undefined, response, callback);
    response.close();

    expect(callback).toHaveBeenCalledTimes(1);
    expect(response.listeners).toEqual([]);
  });

  it('never tells when there is nothing to listen to', () => {
    const callback = vi.fn();
    onClientGone(undefined, {} as ServedResponse, callback)();

    expect(callback).not.toHaveBeenCalled();
  });
});

describe('waiting for something to close', () => {
  it('takes one listener for each way in which it may tell', () => {
    const events: string[] = [];
    const socket = {
      on: (event: string) => void events.push(event),
      off: (event: string) => void events.splice(events.indexOf(event), 1),
    };
    const stops = [1, 2].flatMap(() => [onClose(socket, () => {}), onClose(socket, () => {}, 'disconnect')]);
    expect(events).toEqual(['close', 'disconnect']);

    stops.forEach((stop) => stop());
    expect(events).toEqual([]);
  });
});

describe('whether a client has gone', () => {
  it.each([
    { ended: false, finished: false, closed: false, sent: false, gone: false },
    { ended: true, finished: false, closed: false, sent: false, gone: false },
    { ended: true, finished: true, closed: false, sent: true, gone: false },
    { ended: false, finished: false, closed: true, sent: false, gone: true },
    { ended: true, finished: false, closed: true, sent: false, gone: true },
    { ended: true, finished: true, closed: true, sent: true, gone: false },
    // A stream of HTTP/2 that was cut off before its end
    { ended: false, finished: true, closed: true, sent: false, gone: true },
  ])(
    'ended: $ended, finished: $finished, connection closed: $closed; sent: $sent, gone: $gone',
    ({ ended, finished, closed, sent, gone }) => {
      const { request, response, socket } = exchange();
      Object.assign(response, { writableEnded: ended, writableFinished: finished });
      if (closed) socket.close();

      expect(isSent(response)).toBe(sent);
      expect(isClientGone(request, response)).toBe(gone);
    },
  );
});
