import { isThenable } from '../scope.js';

type Next = (value: never) => unknown;

interface Observer {
  readonly next?: Next | null | undefined;
  readonly error?: ((error: unknown) => unknown) | null | undefined;
  readonly complete?: (() => unknown) | null | undefined;
}

/** What RxJS calls an Observable, of any copy: the engine does not know the package. */
interface Subscribable {
  source?: unknown;
  operator?: unknown;
  subscribe(observer: unknown, ...rest: unknown[]): unknown;
}

// TypeScript takes a class to extend with these parameters only.
// oxlint-disable-next-line typescript/no-explicit-any
type ObservableClass = abstract new (...given: any[]) => object;

/**
 * A class of Observables whose subscribers cannot break anything, at the end of a `pipe()` neither: RxJS would make an
 * uncaught exception of what their `next` throws.
 *
 * @param report Is told of the first failure of each subscriber.
 *
 * @internal
 */
export function isolating<Base extends ObservableClass>(base: Base, report: (error: unknown) => void): Base {
  const Parent = base as unknown as new (...given: unknown[]) => Subscribable;

  class Isolated extends Parent {
    // Every operator goes through here, so that what it returns is isolated too.
    lift(operator: unknown): Isolated {
      const lifted = new Isolated();
      lifted.source = this;
      lifted.operator = operator;

      return lifted;
    }

    override subscribe(observerOrNext?: unknown, error?: unknown, complete?: unknown): unknown {
      if (isSubscriber(observerOrNext)) return super.subscribe(observerOrNext);
      if (typeof observerOrNext !== 'object' || observerOrNext === null) {
        const given = { next: observerOrNext, error, complete };
        return super.subscribe(guarded(Object.fromEntries(Object.entries(given).filter(([, part]) => part)), report));
      }

      return super.subscribe(guarded(observerOrNext, report));
    }
  }

  return Isolated as unknown as Base;
}

/** What RxJS's own operators and adapters subscribe with: they handle what is thrown. */
function isSubscriber(observer: unknown): boolean {
  if (typeof observer !== 'object' || observer === null) return false;

  const parts = observer as Readonly<Record<string, unknown>>;
  return ['next', 'error', 'complete', 'add', 'remove', 'unsubscribe'].every(
    (part) => typeof parts[part] === 'function',
  );
}

function guarded(observer: Observer, report: (error: unknown) => void): Observer {
  let reported = false;
  const reportOnce = (error: unknown): void => {
    if (reported) return;

    reported = true;
    report(error);
  };
  const guard = <Arguments extends unknown[]>(call: (...given: Arguments) => unknown) => {
    return (...given: Arguments): void => {
      try {
        const result = call(...given);
        if (isThenable(result)) result.then(undefined, reportOnce);
      } catch (error) {
        reportOnce(error);
      }
    };
  };

  return {
    next: guard((value: never) => observer.next?.(value)),
    complete: guard(() => observer.complete?.()),
    // Without a handler an error goes the way of RxJS: it comes from an operator of the subscriber's own.
    ...(observer.error && { error: guard((error: unknown) => observer.error?.(error)) }),
  };
}
