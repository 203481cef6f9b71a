import type { CallHandler, ExecutionContext } from '@nestjs/common';
import { Observable, type Subscription } from 'rxjs';
import type { HandlerPlan } from '../src/entrypoint/handler-plans.js';
import { ProtectedCall } from '../src/entrypoint/protected-call.js';
import type { IdempotencyRejectedError } from '../src/execution/rejection.js';
import type { IdempotentOptions } from '../src/idempotency.options.js';
import type { KeyReading } from '../src/key/idempotency-key.js';
import { encodeValue } from '../src/record/stored-value.js';
import { mergeOptions, readHandlerOptions } from '../src/settings.js';
import { replayedHttpError, storedHttpError } from '../src/transports/http-error.js';
import type { Transport } from '../src/transports/transport.js';
import { WarnOnce } from '../src/warn-once.js';
import { Machine } from './machine.js';

/** What a caller has seen so far. */
export class Caller {
  readonly values: unknown[] = [];
  error: unknown = undefined;
  ended = false;
  private subscription: Subscription | undefined = undefined;

  listen(answers: Observable<unknown>, onValue: (value: unknown) => void = () => {}): this {
    this.subscription = answers.subscribe({
      next: (value) => {
        this.values.push(value);
        onValue(value);
      },
      error: (error: unknown) => {
        this.error = error;
        this.ended = true;
      },
      complete: () => (this.ended = true),
    });

    return this;
  }

  leave(): void {
    this.subscription?.unsubscribe();
  }
}

/** A decorated handler behind a transport of its own, which keeps keys where the test puts them. */
export class ProtectedHandler extends Machine {
  readonly warnings = new WarnOnce();
  keyReading: KeyReading | Promise<KeyReading> = { kind: 'key', key: 'k' };
  payload: unknown = 'payload';
  user: unknown = undefined;
  runs = 0;

  readonly transport: Transport = {
    context: 'http',
    answersOnce: true,
    isCoveredByClass: () => true,
    keyOf: () => this.keyReading,
    scopeSourceOf: () => this.user,
    userOf: () => this.user,
    identityOf: () => ['POST', '/payments'],
    payloadOf: () => this.payload,
    placeOf: () => undefined,
    store: (outcome) =>
      outcome.kind === 'error'
        ? { ...storedHttpError(outcome.error), headers: {} }
        : { status: 201, headers: {}, body: encodeValue(outcome.value) },
    replay: (response) => {
      if (response.error !== undefined) throw replayedHttpError(response);
      return response.body;
    },
    reject: (rejection: IdempotencyRejectedError) => rejection,
    dropsRejected: (rejection) => this.dropsRejected(rejection),
  };

  constructor(private readonly options: IdempotentOptions = {}) {
    super();
  }

  /** A call of the handler, which does nothing until somebody subscribes. */
  answers(handle: () => Observable<unknown>): Observable<unknown> {
    const { transport, calls, events, warnings } = this;
    const context = { isContext: true } as unknown as ExecutionContext;
    const next: CallHandler = {
      handle: () => {
        this.runs += 1;
        return handle();
      },
    };

    return new Observable((subscriber) => {
      const parts = { plan: this.plan, transport, calls, events, warnings, context, next };
      const call = new ProtectedCall(parts, subscriber);
      void call.answer();

      return () => call.leave();
    });
  }

  request(handle: () => Observable<unknown>): Caller {
    return new Caller().listen(this.answers(handle));
  }

  /** Whether nobody is there whom an error would reach. */
  dropsRejected(_rejection: IdempotencyRejectedError): boolean {
    return false;
  }

  private readonly method = (): void => {};

  private get plan(): HandlerPlan {
    const settings = mergeOptions(readHandlerOptions(this.options));

    return { method: this.method, source: 'Payments.create', settings, byClassOnly: false };
  }
}
