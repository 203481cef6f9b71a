import type { Engine } from './engine.js';

type Policy = InstanceType<Engine['ResiliencePolicy']>;
export type Attempt = Parameters<Parameters<Policy['execute']>[0]>[0];
export type Options = NonNullable<Parameters<Policy['execute']>[1]>;
type Work = (attempt: Attempt) => unknown;

/** A call of `execute()`, and how it is made rightly. */
export interface FaultyCall {
  readonly work: Work;
  readonly options: Options;
  readonly run: (work: Work, options: Options) => Promise<unknown>;
}

type Execute = (call: FaultyCall) => Promise<unknown>;

/** The engine with another `execute()`, of all that is put together with `wrap()`. */
export function executing(engine: Engine, execute: Execute): Engine {
  const { ResiliencePolicy } = engine;
  abstract class Faulty extends ResiliencePolicy {
    static override wrap(...policies: readonly Policy[]): Policy {
      return withExecute(ResiliencePolicy.wrap(...policies), execute);
    }
  }

  return { ...engine, ResiliencePolicy: Faulty };
}

/** The same of all that `createPolicy()` makes. */
export function executingStages(engine: Engine, execute: Execute): Engine {
  return { ...engine, createPolicy: (...given) => withExecute(engine.createPolicy(...given), execute) };
}

function withExecute(right: Policy, execute: Execute): Policy {
  const run = (work: Work, options: Options): Promise<unknown> => right.execute(work, options);

  return Object.create(right, {
    execute: { value: (work: Work, options: Options = {}) => execute({ run, work, options }) },
  }) as Policy;
}
