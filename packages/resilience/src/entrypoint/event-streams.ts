import type { OutletCall } from './entrypoint-execution.js';

/** The events of a subscription, as those who send them read them. */
export interface Events {
  next(): Promise<IteratorResult<unknown>>;
  /** Nobody reads them any more. */
  close(): Promise<IteratorResult<unknown>>;
}

const OVER: IteratorResult<unknown> = { done: true, value: undefined };

export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  if (typeof value !== 'object' || value === null) return false;

  return typeof (value as Partial<AsyncIterable<unknown>>)[Symbol.asyncIterator] === 'function';
}

/** What a handler has opened. It is told once that nobody reads it any more, whoever says so. */
export class OpenedEvents implements Events {
  private readonly iterator: AsyncIterator<unknown>;
  private closing: Promise<IteratorResult<unknown>> | undefined = undefined;

  constructor(events: AsyncIterable<unknown>) {
    this.iterator = events[Symbol.asyncIterator]();
  }

  /** Async, since iterators may throw at once. */
  async next(): Promise<IteratorResult<unknown>> {
    return this.iterator.next();
  }

  close(): Promise<IteratorResult<unknown>> {
    return (this.closing ??= this.tellIterator());
  }

  private async tellIterator(): Promise<IteratorResult<unknown>> {
    return (await this.iterator.return?.()) ?? OVER;
  }
}

/**
 * What a server is given as soon as a handler has opened something, maybe before it is known which attempt's events they
 * will be: only what it has been given, it can close.
 */
export class AwaitedEvents implements Events {
  private readonly known: Promise<void>;
  private tell!: () => void;
  private opened: Events | undefined = undefined;
  private first: IteratorResult<unknown> | undefined = undefined;
  private failure: { readonly error: unknown } | undefined = undefined;
  private isOver = false;

  /** @param leave Is called when nobody waits for them any more. */
  constructor(private readonly leave: () => void) {
    this.known = new Promise((resolve) => {
      this.tell = resolve;
    });
  }

  /** They are these, of which one has been read. */
  begin(opened: Events, first: IteratorResult<unknown>): void {
    this.opened = opened;
    this.first = first;
    this.tell();
  }

  /** There will be none. The server need not ask any more, so that this is not a promise that nobody handles. */
  fail(error: unknown): void {
    this.failure = { error };
    this.finish();
  }

  finish(): void {
    this.isOver = true;
    this.tell();
  }

  async next(): Promise<IteratorResult<unknown>> {
    if (this.opened === undefined) await this.known;
    const { failure, first, isOver, opened } = this;
    this.failure = this.first = undefined;
    if (failure !== undefined) throw failure.error;
    if (isOver || opened === undefined) return OVER;

    return first ?? opened.next();
  }

  /** Does not wait for a generator that hangs, as it would have to if it asked that to end. */
  async close(): Promise<IteratorResult<unknown>> {
    const wasOver = this.isOver;
    this.finish();
    if (this.opened !== undefined) return this.opened.close();

    if (!wasOver) this.leave();
    return OVER;
  }
}

/** Events as they leave: what is sent in place of each, and of an error. */
export class OutgoingEvents implements AsyncIterableIterator<unknown> {
  constructor(
    private readonly events: Events,
    private readonly call: OutletCall,
    private readonly translate: (error: unknown, call: OutletCall) => unknown,
  ) {}

  async next(): Promise<IteratorResult<unknown>> {
    let result: IteratorResult<unknown>;
    try {
      result = await this.events.next();
    } catch (error) {
      throw this.translate(error, this.call);
    }

    return result.done === true ? result : { done: false, value: await this.sentFor(result.value) };
  }

  async return(): Promise<IteratorResult<unknown>> {
    return this.events.close();
  }

  async throw(error: unknown): Promise<never> {
    await this.events.close();
    throw error;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Nobody closes events which fail, so those that cannot be sent are closed here. */
  private async sentFor(event: unknown): Promise<unknown> {
    const { context, transport } = this.call;
    try {
      return transport.outgoingEvent === undefined ? event : transport.outgoingEvent(event, context);
    } catch (error) {
      await this.events.close();
      throw error;
    }
  }
}
