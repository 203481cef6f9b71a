import type { NestInterceptor } from '@nestjs/common';
import type { ModulesContainer } from '@nestjs/core';

/** What is used of the server of a microservice. */
interface RpcServer {
  getHandlers?(): ReadonlyMap<unknown, unknown>;
  addHandler?(...handler: unknown[]): unknown;
}

/** The handlers of messages in an application. */
export interface MessageHandlers {
  /** Those that need the interceptor, such as `QuotesHandlers.getQuotes`. */
  readonly decorated: readonly string[];
  /** Whether there is one whose chain of interceptors Nest builds when its microservice is connected, not per message. */
  readonly builtAtOnce: boolean;
}

export interface ConnectedMicroservicesParts {
  readonly modules: ModulesContainer;
  /** The binding's own, which is global. */
  readonly interceptor: NestInterceptor;
  /** Is told the handlers that do without it, such as `QuotesHandlers.getQuotes()`. */
  readonly warn: (handlers: string) => void;
}

/** What connects a microservice that has the interceptors of its application, as warnings say it. */
export const INHERIT_REMEDY =
  'a microservice was connected without the global interceptors of the application. Connect it with ' +
  'app.connectMicroservice(options, { inheritAppConfig: true }).';

/**
 * Whether the microservices of a hybrid application run its global interceptors. Nest does not tell. But it registers the
 * handlers of a microservice while it connects it, and looks at each interceptor for each of them: so a microservice that
 * has got its handlers while nobody looked at ours has a configuration of its own. That is so too when it is initialized
 * later: its handlers are registered in one go then.
 */
export class ConnectedMicroservices {
  private looks = 0;
  /** Whether somebody has looked since the code that runs now was called. Kept while a server waits for its handlers. */
  private lookedJustNow = false;
  private waiting = 0;
  /** How many looks there had been when a server got the handler before. */
  private looksAtHandler = 0;
  private latest: { readonly server: RpcServer; readonly looksBefore: number } | undefined = undefined;
  private without = 0;
  private handlers: MessageHandlers | undefined = undefined;

  constructor(private readonly parts: ConnectedMicroservicesParts) {
    this.countLooksAt(parts.interceptor);
    parts.modules.getRpcTargetRegistry<RpcServer>().subscribe((server) => this.watch(server));
  }

  /** When all handlers are known: warns of microservices that do without ours, also of those that are connected later. */
  report(handlers: MessageHandlers): void {
    this.handlers = handlers;
    this.warn();
  }

  /** Nest looks at it to build a chain, and to run it. */
  private countLooksAt(interceptor: NestInterceptor): void {
    const intercept = interceptor.intercept.bind(interceptor);
    const get = (): typeof intercept => {
      this.looks += 1;
      if (this.waiting > 0) this.noteLook();
      return intercept;
    };
    Object.defineProperty(interceptor, 'intercept', { get, configurable: true, enumerable: false });
  }

  private noteLook(): void {
    if (this.lookedJustNow) return;

    this.lookedJustNow = true;
    queueMicrotask(() => {
      this.lookedJustNow = false;
    });
  }

  private watch(server: RpcServer): void {
    this.judge();
    this.latest = { server, looksBefore: this.looks };
    // The handlers are registered before whoever connects it gets it back.
    queueMicrotask(() => this.judge());
  }

  private judge(): void {
    const { latest } = this;
    this.latest = undefined;
    if (latest === undefined || latest.looksBefore !== this.looks) return;
    if ((latest.server.getHandlers?.().size ?? 0) === 0) this.waitForHandlers(latest.server);
    else this.noteServerWithout();
  }

  /** A microservice that stands alone, or is to be initialized later, has none yet. */
  private waitForHandlers(server: RpcServer): void {
    const { addHandler } = server;
    if (typeof addHandler !== 'function') return;

    this.waiting += 1;
    let [looked, judging] = [false, false];
    server.addHandler = (...handler) => {
      // Nest has built its chain right before.
      looked ||= this.lookedJustNow && this.looksAtHandler !== this.looks;
      this.looksAtHandler = this.looks;
      if (!judging) {
        judging = true;
        queueMicrotask(() => {
          server.addHandler = addHandler;
          this.waiting -= 1;
          if (!looked) this.noteServerWithout();
        });
      }

      return addHandler.apply(server, handler);
    };
  }

  private noteServerWithout(): void {
    this.without += 1;
    this.warn();
  }

  private warn(): void {
    if (this.handlers === undefined) return;

    const { decorated, builtAtOnce } = this.handlers;
    const count = this.without;
    this.without = 0;
    if (count === 0 || decorated.length === 0 || !builtAtOnce) return;

    this.parts.warn(decorated.map((source) => `${source}()`).join(', '));
  }
}
