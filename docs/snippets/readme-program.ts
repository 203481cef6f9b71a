/* oxlint-disable no-console -- it is a program that prints */
// #region program
import { CircuitOpenError, createPolicy } from 'holdfast';

const carrier = createPolicy({
  timeout: '100ms',
  retry: { attempts: 2, backoff: { delay: '20ms' } },
  circuitBreaker: { minimumCalls: 4, failureRateThreshold: 50, openDuration: '10s' },
  fallback: { handler: () => 'flat rate', handleIf: (error) => error instanceof CircuitOpenError },
});

// Stands for `fetch(url, { signal })`: answers two calls, and hangs from then on.
const quote = (call: number, signal: AbortSignal): Promise<string> =>
  new Promise((resolve, reject) => {
    if (call <= 2) resolve('live quote');
    signal.addEventListener('abort', () => reject(signal.reason));
  });

async function main(): Promise<void> {
  for (const call of [1, 2, 3, 4]) {
    const outcome = carrier.execute(({ signal }) => quote(call, signal));
    console.log(call, await outcome.catch(String));
  }
}
void main();
// #endregion
