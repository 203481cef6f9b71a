import { BudgetPolicy, BulkheadPolicy, CircuitBreakerPolicy, TimeoutPolicy } from '@nestjs/resilience';

/** What is changed in the policies of an application, so that a run has something to find. */
export const FAULTS = ['leaks-slots', 'gives-slots-twice', 'cuts-late', 'counts-twice'] as const;

export type Fault = (typeof FAULTS)[number];

const ONE_IN = 20;
const LATE_MS = 200;

type Method = (this: unknown, ...given: unknown[]) => unknown;

const PLANTS: Readonly<Record<Fault, () => void>> = {
  'leaks-slots': () => {
    let given = 0;
    replace(
      BulkheadPolicy.prototype,
      'release',
      (original) =>
        function leaking(this: unknown) {
          if (++given % ONE_IN !== 0) original.call(this);
        },
    );
  },
  'gives-slots-twice': () => {
    let given = 0;
    replace(
      BulkheadPolicy.prototype,
      'release',
      (original) =>
        function generous(this: unknown) {
          original.call(this);
          if (++given % ONE_IN === 0) original.call(this);
        },
    );
  },
  'cuts-late': () => {
    for (const prototype of [TimeoutPolicy.prototype, stageOf(new BudgetPolicy(1))]) {
      replace(
        prototype,
        'expire',
        (original) =>
          function late(this: unknown, ...given: unknown[]) {
            setTimeout(() => original.apply(this, given), LATE_MS);
          },
      );
    }
  },
  'counts-twice': () =>
    replace(
      CircuitBreakerPolicy.prototype,
      'record',
      (original) =>
        function eager(this: unknown, ...given: unknown[]) {
          original.apply(this, given);
          original.apply(this, given);
        },
    ),
};

/** @throws TypeError when there is no such fault. */
export function plant(fault: string): void {
  const planted = PLANTS[fault as Fault];
  if (planted === undefined) throw new TypeError(`--fault ${fault}: expected one of ${FAULTS.join(', ')}.`);

  planted();
}

function replace(prototype: object, name: string, make: (original: Method) => Method): void {
  const methods = prototype as Record<string, Method>;
  methods[name] = make(methods[name] as Method);
}

/** A budget is carried out by a stage of its own, which other packages do not see. */
function stageOf(policy: BudgetPolicy): object {
  const { pipeline } = policy as unknown as { readonly pipeline: { readonly stages: readonly [object] } };

  return Object.getPrototypeOf(pipeline.stages[0]) as object;
}
