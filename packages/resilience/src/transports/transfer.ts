import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { StreamableFile } from '@nestjs/common';
import { isClientGone, isSent, isSentAtEnd, onConnectionClosed } from 'holdfast/binding';

/**
 * Bodies that are read while they are sent. Nest sends files, Node and web streams, web responses and async iterables
 * like that; here is seen how that ends.
 */

/** How the transfer of a streamed body ended. */
export type TransferOutcome =
  | { readonly state: 'sent'; readonly error?: undefined }
  | { readonly state: 'failed'; readonly error: unknown }
  /** The client went away: nobody's failure. */
  | { readonly state: 'left'; readonly error?: undefined };

/** Whether a handler's value is a body that is read while it is sent: as Nest decides, which sends it. */
export function isStreamedBody(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (value instanceof StreamableFile) return true;
  if (isWebResponse(value)) return value.body !== null;

  const { [Symbol.asyncIterator]: iterate, then } = value as Partial<AsyncIterable<unknown> & PromiseLike<unknown>>;
  return typeof iterate === 'function' && typeof then !== 'function';
}

/** Tells, once, how the transfer of a body ended. Returns the body to send in its place. */
export function followTransfer(
  body: unknown,
  response: ServerResponse,
  tell: (outcome: TransferOutcome) => void,
): unknown {
  let failure: TransferOutcome | undefined;
  const sent = watchFailure(body as object, (error) => (failure ??= { state: 'failed', error }));
  onResponseOver(response, (complete) => tell(failure ?? { state: complete ? 'sent' : 'left' }));

  return sent;
}

function watchFailure(body: object, onFailure: (error: unknown) => void): unknown {
  if (body instanceof StreamableFile) watchNodeStream(body.getStream(), onFailure);
  else if (isWebResponse(body)) watchWebStream(body.body as ReadableStream, onFailure);
  else if (isWebStream(body)) watchWebStream(body, onFailure);
  else if (isNodeStream(body)) watchNodeStream(body, onFailure);
  else return new WatchedIterable(body as AsyncIterable<unknown>, onFailure);

  return body;
}

function watchNodeStream(stream: Readable, onFailure: (error: unknown) => void): void {
  // One that has failed already has emitted its error.
  if (stream.errored) onFailure(stream.errored);
  else stream.once('error', onFailure);
}

/** A web stream tells of its failure only whoever reads it; of one that is frozen is seen whether it was sent. */
function watchWebStream(stream: ReadableStream, onFailure: (error: unknown) => void): void {
  if (!Object.isExtensible(stream)) return;

  const getReader = stream.getReader.bind(stream) as () => ReadableStreamDefaultReader;
  const value = (...options: Parameters<typeof getReader>): ReadableStreamDefaultReader => {
    const reader = getReader(...options);
    reader.closed.catch(onFailure);
    return reader;
  };
  Object.defineProperty(stream, 'getReader', { value, configurable: true, writable: true });
}

class WatchedIterable implements AsyncIterable<unknown> {
  constructor(
    private readonly source: AsyncIterable<unknown>,
    private readonly onFailure: (error: unknown) => void,
  ) {}

  [Symbol.asyncIterator](): AsyncIterator<unknown> {
    const { onFailure } = this;
    const iterator = this.open();

    return {
      async next() {
        try {
          return await iterator.next();
        } catch (error) {
          onFailure(error);
          throw error;
        }
      },
      async return() {
        return (await iterator.return?.()) ?? { done: true, value: undefined };
      },
    };
  }

  /** Nest stops what has such a method with it. */
  destroy(): void {
    (this.source as { readonly destroy?: () => void }).destroy?.();
  }

  private open(): AsyncIterator<unknown> {
    try {
      return this.source[Symbol.asyncIterator]();
    } catch (error) {
      this.onFailure(error);
      throw error;
    }
  }
}

/** Calls `listener` once when a response has been sent completely, or will not be any more. */
export function onResponseOver(response: ServerResponse, listener: (complete: boolean) => void): void {
  const { req: request } = response;
  if (isSent(response) || isClientGone(request, response)) {
    process.nextTick(listener, isSent(response));
    return;
  }

  const end = (): void => {
    stopWaiting();
    response.removeListener('finish', end);
    listener(isSentAtEnd(request, response));
  };
  const stopWaiting = onConnectionClosed(request, response, end);
  response.once('finish', end);
}

/** As Nest knows them: by their tag, so that those of other implementations count too. */
function isWebResponse(value: object): value is Response {
  return Object.prototype.toString.call(value) === '[object Response]';
}

/** Emitters that can be iterated, such as the cursors of databases, tell of their failure the iterator only. */
function isNodeStream(value: object): value is Readable {
  return 'pipe' in value && typeof value.pipe === 'function' && 'once' in value && typeof value.once === 'function';
}

function isWebStream(value: object): value is ReadableStream {
  return 'getReader' in value && typeof value.getReader === 'function';
}
