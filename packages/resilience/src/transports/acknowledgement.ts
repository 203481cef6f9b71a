import type { ExecutionContext } from '@nestjs/common';
import { takesAcknowledgement } from 'holdfast/nest';

type Acknowledge = (...answer: unknown[]) => unknown;

/** After the socket and the data, handlers get this when the client waits for an acknowledgement. */
const ACKNOWLEDGE = 2;

const watched = new WeakMap<Acknowledge, Acknowledgement>();

/**
 * The acknowledgement that the client of a message waits for. Handlers may send it by themselves, also without `@Ack()`:
 * only the function that they call can tell whether they have.
 */
export class Acknowledgement {
  isSent = false;

  /** @param isLeftToHandler Whether Nest sends none, whatever the handler returns. */
  private constructor(
    private readonly acknowledge: Acknowledge,
    private readonly isLeftToHandler: boolean,
  ) {}

  /** Puts itself, once, between the handler and the function. `undefined` when nobody waits. */
  static watch(context: ExecutionContext): Acknowledgement | undefined {
    const acknowledge: unknown = context.getArgByIndex(ACKNOWLEDGE);
    if (typeof acknowledge !== 'function') return undefined;

    const known = watched.get(acknowledge as Acknowledge);
    if (known !== undefined) return known;

    const acknowledgement = new Acknowledgement(acknowledge as Acknowledge, isLeftToHandler(context));
    const watching: Acknowledge = (...answer) => acknowledgement.send(...answer);
    watched.set(watching, acknowledgement);
    context.getArgs<unknown[]>()[ACKNOWLEDGE] = watching;
    return acknowledgement;
  }

  /** What Socket.IO calls to acknowledge a message; its client hears of the first call only. */
  send(...answer: unknown[]): unknown {
    this.isSent = true;

    return this.acknowledge(...answer);
  }

  /** Hears of what answers in place of the handler: where Nest leaves the acknowledgement to that, nobody sends it. */
  sendReplacement(value: unknown): void {
    if (this.isSent || !this.isLeftToHandler || !isAcknowledged(value)) return;

    this.send(value);
  }
}

/** The rule of Nest, which emits what names an event, and sends nothing for nothing. */
function isAcknowledged(value: unknown): boolean {
  return value !== undefined && value !== null && !(value as { readonly event?: unknown }).event;
}

const leftToHandlers = new WeakMap<Function, WeakMap<Function, boolean>>();

/** Asked for each message, and found among the methods of a class only once. */
function isLeftToHandler(context: ExecutionContext): boolean {
  const [cls, method] = [context.getClass(), context.getHandler()];
  // Contexts made by other packages need not have either.
  if (typeof cls !== 'function' || typeof method !== 'function') return false;

  const ofClass = leftToHandlers.get(cls) ?? new WeakMap<Function, boolean>();
  leftToHandlers.set(cls, ofClass);
  const isLeft = ofClass.get(method) ?? takesAcknowledgement(cls, method);
  ofClass.set(method, isLeft);

  return isLeft;
}
