import type { ExecutionContext } from '@nestjs/common';
import { takesAcknowledgement } from '../entrypoint/handler.js';

type Acknowledge = (...answer: unknown[]) => unknown;

/** After the socket and the data, handlers get this when the client waits for an acknowledgement. */
const ACKNOWLEDGE = 2;

/** What Socket.IO calls to acknowledge a message; its client hears of the first call only. */
export function acknowledgeOf(context: ExecutionContext): Acknowledge | undefined {
  const acknowledge: unknown = context.getArgByIndex(ACKNOWLEDGE);

  return typeof acknowledge === 'function' ? (acknowledge as Acknowledge) : undefined;
}

const watched = new WeakMap<Acknowledge, Acknowledgement>();

/** The acknowledgement of a message whose handler sends it by itself: only the function can tell whether it has. */
export class Acknowledgement {
  isSent = false;

  /** Puts itself between the handler and the function. `undefined` when Nest acknowledges, or nobody waits for it. */
  static watch(context: ExecutionContext): Acknowledgement | undefined {
    const acknowledge = acknowledgeOf(context);
    if (acknowledge === undefined || !isLeftToHandler(context)) return undefined;

    const acknowledgement = new Acknowledgement();
    const watching: Acknowledge = (...answer) => {
      acknowledgement.isSent = true;
      return acknowledge(...answer);
    };
    watched.set(watching, acknowledgement);
    context.getArgs<unknown[]>()[ACKNOWLEDGE] = watching;
    return acknowledgement;
  }
}

/** Whether the client may still be waiting for an acknowledgement, and nobody else will send it. */
export function isAwaited(context: ExecutionContext): boolean {
  const acknowledge = acknowledgeOf(context);
  if (acknowledge === undefined) return false;

  return isLeftToHandler(context) ? watched.get(acknowledge)?.isSent === false : true;
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
