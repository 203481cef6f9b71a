import { brand } from '../brand.js';
import { isClientError, isClientGone } from '../errors.js';
import type { Execution } from '../execution.js';
import { decision, rejectUnknown, requireFunction, requireName, requireObject } from '../options.js';
import { StagePolicy } from '../policy.js';
import type { AttemptContext } from '../scope.js';

/**
 * Answers instead of what failed. At an entrypoint of a framework it is also given the framework's context. It runs
 * outside of the stages that it stands around, without their limits.
 */
export type FallbackHandler = (error: unknown, context: AttemptContext, ...subject: unknown[]) => unknown;

export interface FallbackOptions {
  /** Shown in events. Default `'fallback'`. */
  readonly name?: string | undefined;
  /** Which errors are answered for. Default: all but client errors. */
  readonly handleIf?: ((error: unknown) => boolean) | undefined;
}

export interface ResolvedFallbackOptions {
  readonly name: string;
  readonly handleIf: (error: unknown) => boolean;
}

/**
 * Validates options and fills in the defaults.
 *
 * @throws TypeError naming the option.
 */
export function resolveFallbackOptions(options: FallbackOptions): ResolvedFallbackOptions {
  requireObject(options, '', 'Use { handleIf: (error) => … }.');
  rejectUnknown(options, ['name', 'handleIf']);
  const { name = 'fallback', handleIf = (error) => !isClientError(error) } = options;

  return { name: requireName(name, 'name'), handleIf: requireFunction(handleIf, 'handleIf') };
}

/**
 * Gives a second-best answer instead of an error: refusals and timeouts of the policies inside included, client errors
 * not, and nothing once the caller is gone or the answer is on its way. An error of the handler reaches the caller.
 */
export class FallbackPolicy extends StagePolicy {
  private readonly handler: FallbackHandler;
  private readonly handleIf: (error: unknown) => boolean;

  constructor(handler: FallbackHandler, options: FallbackOptions = {}) {
    const resolved = resolveFallbackOptions(options);
    super(resolved.name);
    this.handler = requireFunction(handler, 'handler');
    this.handleIf = resolved.handleIf;
  }

  /** @internal */
  override get answersFailures(): boolean {
    return true;
  }

  /** @internal */
  enter(execution: Execution, at: number): boolean {
    // The handler is told the attempt that the fallback stands in, not the last one inside.
    if (execution.attemptNumber > 1) execution.setFrame(at, execution.attemptNumber);

    return true;
  }

  /** @internal */
  leave(execution: Execution, at: number): boolean {
    const attemptNumber = execution.frame(at) as number | undefined;
    if (attemptNumber !== undefined) execution.setFrame(at, undefined);
    if (execution.ok || execution.cutting || execution.isCommitted()) return true;
    if (isClientGone(execution.value) || execution.leftBy() !== undefined) return true;

    const { value: error, step, source } = execution;
    if (!this.handles(execution) || execution.step !== step) return true;

    if (this.isObserved('fallback')) {
      this.emit({ type: 'fallback', policy: this.name, source, error });
      if (execution.step !== step) return false;
    }
    execution.attemptNumber = attemptNumber ?? 1;
    execution.flawed = false;
    execution.substitute(at, (context) => this.answer(execution, error, context));
    return false;
  }

  private handles(execution: Execution): boolean {
    try {
      return decision(this.handleIf(execution.value), 'handleIf');
    } catch (error) {
      execution.replaceByFlaw(error);
      return false;
    }
  }

  private answer(execution: Execution, error: unknown, context: AttemptContext): unknown {
    const { subject } = execution;

    return subject === undefined ? this.handler(error, context) : this.handler(error, context, subject);
  }
}

brand(FallbackPolicy, Symbol.for('holdfast.policy.fallback'));
