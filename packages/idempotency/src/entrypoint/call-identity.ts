import type { ExecutionContext } from '@nestjs/common';
import { log } from '../log.js';
import type { KeyedCall } from '../execution/keyed-call.js';
import { IdempotencyRejectedError } from '../execution/rejection.js';
import type { IdempotencyScopeFn } from '../idempotency.options.js';
import { fingerprintOf } from '../key/fingerprint.js';
import { recordKey } from '../key/record-key.js';
import { scopeText } from '../key/scope.js';
import { settingFor } from '../settings.js';
import type { Transport } from '../transports/transport.js';
import type { WarnOnce } from '../warn-once.js';
import type { HandlerPlan } from './handler-plans.js';

/** Tells which call this is: under which key, of whom, and to do what. */
export class CallIdentity {
  constructor(
    private readonly plan: HandlerPlan,
    private readonly transport: Transport,
    private readonly warnings: WarnOnce,
  ) {}

  /**
   * `undefined` for a call without a key, which needs none.
   *
   * @throws IdempotencyRejectedError when it cannot be told.
   */
  async of(context: ExecutionContext): Promise<KeyedCall | undefined> {
    const { plan, transport } = this;
    const { settings, source: handler } = plan;
    const reading = transport.keyOf(context, settings);
    const found = reading instanceof Promise ? await reading : reading;
    if (found.kind === 'missing' && !settings.required) return undefined;
    if (found.kind !== 'key') throw withoutKey(found);

    const [scope, payload] = this.asksFunctions
      ? await Promise.all([this.scopeOf(context), this.payloadOf(context)])
      : [this.scopeWithoutFunction(context), this.wholePayload(context)];
    const { key } = found;
    const identity = transport.identityOf(context);
    const place = transport.placeOf(context, plan);

    return {
      context: transport.context,
      handler,
      key,
      scope,
      recordKey: recordKey({ key, scope, place: place === undefined ? undefined : `${transport.context}.${place}` }),
      fingerprint: fingerprintOf({ scope, identity, payload }),
      settings,
    };
  }

  /** Most handlers have none, and nothing to wait for. */
  private get asksFunctions(): boolean {
    return this.plan.settings.fingerprint !== undefined || typeof this.scopeSetting === 'function';
  }

  private get scopeSetting(): IdempotencyScopeFn | false | undefined {
    return settingFor<IdempotencyScopeFn | false>(this.plan.settings.scope, this.transport.context);
  }

  private async payloadOf(context: ExecutionContext): Promise<unknown> {
    const { fingerprint } = this.plan.settings;
    if (fingerprint === undefined) return this.wholePayload(context);

    return await fingerprint(this.transport.payloadOf(context), context);
  }

  private wholePayload(context: ExecutionContext): unknown {
    const { plan, transport, warnings } = this;
    if (transport.hidesPayload?.(context) === true) {
      warnings.warn(
        'unseen-payload',
        plan,
        'is called with a body that nothing has parsed before interceptors run: under one key, two different ones are ' +
          'taken for the same. Set fingerprint, to the Content-Digest header for example, or parse them in middleware.',
      );
    }

    return transport.payloadOf(context);
  }

  private async scopeOf(context: ExecutionContext): Promise<string | undefined> {
    const { plan, transport, scopeSetting: setting } = this;
    if (typeof setting !== 'function') return this.scopeWithoutFunction(context);

    const hasUser = isPresent(transport.userOf(context));
    const scope = scopeText(await setting(transport.scopeSourceOf(context), context), plan.source);
    if (scope !== undefined) return scope;
    if (hasUser) throw scopeMissing(plan.source);

    this.warnUnscoped('was called without a user and without a scope: such callers share their keys');
    return undefined;
  }

  private scopeWithoutFunction(context: ExecutionContext): undefined {
    if (this.scopeSetting === false || !isPresent(this.transport.userOf(context))) return;

    this.warnUnscoped('has no scope although users sign in: one user can be answered with what was for another');
  }

  private warnUnscoped(what: string): void {
    this.warnings.warn('unscoped', this.plan, `${what}. Set scope, or scope: false if that is on purpose.`);
  }
}

function withoutKey(
  found: { readonly kind: 'missing' } | { readonly kind: 'invalid'; readonly problem: string },
): IdempotencyRejectedError {
  return found.kind === 'missing'
    ? new IdempotencyRejectedError('IDEMPOTENCY_KEY_REQUIRED', 'This call needs an idempotency key')
    : new IdempotencyRejectedError('IDEMPOTENCY_KEY_INVALID', `The idempotency key ${found.problem}`);
}

/** With the keys of all callers in one place, this user might be answered with what was for another. */
function scopeMissing(handler: string): IdempotencyRejectedError {
  log(
    'error',
    `The idempotency scope of ${handler} is empty although a user is signed in. Return what tells users apart, or set ` +
      'scope: false for keys that all share.',
  );

  return new IdempotencyRejectedError('IDEMPOTENCY_SCOPE_MISSING', 'The caller cannot be told from others');
}

function isPresent(user: unknown): boolean {
  return user !== undefined && user !== null && user !== false;
}
