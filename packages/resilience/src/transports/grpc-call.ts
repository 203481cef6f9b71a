import type { ExecutionContext } from '@nestjs/common';
import type { GrpcCall } from 'holdfast/nest';
import type { Exchange } from './transport.js';

/** Answers a call whose client sends a stream and gets one message. */
export type GrpcCallback = (error: unknown) => void;

/** What a handler that has the call itself answers with, where its answer is a single message. */
export function callbackOf(context: ExecutionContext): GrpcCallback | undefined {
  const callback = context.getArgByIndex<unknown>(1);

  return typeof callback === 'function' ? (callback as GrpcCallback) : undefined;
}

/** How long the client still waits, in milliseconds, below 0 when it does not; `undefined` when it set no deadline. */
export function patienceOf(call: GrpcCall): number | undefined {
  const leftMs = Number(call.getDeadline()) - Date.now();

  return Number.isFinite(leftMs) ? leftMs : undefined;
}

/**
 * A client whose deadline passes cancels the call, as one that leaves does: on the wire they are the same. Its clock
 * started before ours, by the way here and by what this process was busy with meanwhile. So a cancellation is the
 * deadline's when less than this is left, and less than half of the time that there was.
 */
const DEADLINE_MARGIN_MS = 50;

/** A call of gRPC on the wire. */
export class GrpcExchange implements Exchange {
  private readonly call: GrpcCall;
  private readonly patienceMs: number | undefined;
  private stop: (() => void) | undefined = undefined;

  constructor(call: GrpcCall) {
    this.call = call;
    this.patienceMs = patienceOf(call);
  }

  /** Values leave as they come, so the execution itself knows of the first. */
  hasBegun(): boolean {
    return false;
  }

  get clientLeft(): boolean {
    return this.call.cancelled && !this.isOver();
  }

  get overAfterMs(): number | undefined {
    return this.call.cancelled && this.isOver() ? this.patienceMs : undefined;
  }

  onClientLeft(listener: () => void): () => void {
    const { call } = this;
    let watches = true;
    const leave = (): void => {
      if (watches && this.clientLeft) listener();
    };
    const stop = (): void => {
      // An emitter calls those too that are taken off while it emits, as Nest's unsubscribing may make us do.
      watches = false;
      call.off('cancelled', leave);
    };
    call.on('cancelled', leave);
    this.stop = stop;

    return stop;
  }

  /** A call tells of its end as if it were cancelled; and from streams whose client has left, Nest unsubscribes. */
  onSent(): void {
    this.stop?.();
    this.stop = undefined;
  }

  private isOver(): boolean {
    const leftMs = patienceOf(this.call);
    if (leftMs === undefined || this.patienceMs === undefined) return false;

    return leftMs <= Math.min(DEADLINE_MARGIN_MS, this.patienceMs / 2);
  }
}
