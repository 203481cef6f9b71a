import { ScriptedDownstream, type Step } from 'holdfast/testing';

/** The dependency that every page calls, played by a script. */

export interface Quote {
  readonly service: string;
  readonly price: number;
}

export const liveQuotes: readonly Quote[] = [{ service: 'ground', price: 6.9 }];
export const flatRates: readonly Quote[] = [{ service: 'flat-rate', price: 4.99 }];

let downstream = new ScriptedDownstream([{ answer: liveQuotes }]);

/** From now on the carrier does these steps, one per call; the last one repeats. */
export function scriptCarrier(
  steps: readonly Step[],
  options: { readonly honoursSignal?: boolean } = {},
): ScriptedDownstream {
  downstream = new ScriptedDownstream(steps, options);

  return downstream;
}

/** Stands for `fetch()`. Without a signal nothing can cancel it. */
export function fetchQuotes(
  _orderId: string,
  signal: AbortSignal = new AbortController().signal,
): Promise<readonly Quote[]> {
  return downstream.call({ signal, attempt: 1 }) as Promise<readonly Quote[]>;
}
