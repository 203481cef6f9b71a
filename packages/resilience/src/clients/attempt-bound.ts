import { currentScope, type Scope } from 'holdfast/binding';
import { Observable } from 'rxjs';

/**
 * A call that ends with the attempt in which it is subscribed to, with that attempt's reason. In an attempt that is over
 * nothing is opened.
 */
export function boundByAttempt(open: (scope: Scope | undefined) => Observable<unknown>): Observable<unknown> {
  return new Observable((subscriber) => {
    const scope = currentScope();
    if (scope?.aborted === true) return subscriber.error(scope.signal.reason);
    if (scope === undefined) return open(scope).subscribe(subscriber);

    const link = scope.follow({ onAbort: (reason) => subscriber.error(reason) });
    subscriber.add(() => scope.leave(link));
    return open(scope).subscribe(subscriber);
  });
}
