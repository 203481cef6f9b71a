import { CircuitBreakerPolicy } from 'holdfast';
import { answerAtOnce, type Call, type Sides } from '../sides.js';

/** Every so many calls one fails, so that the rate is looked at: a window without failures needs no look. */
const FAILS_EVERY = 10;
const DOWN = new Error('down');
const HOUR_MS = 3_600_000;

const fail = (): Promise<never> => Promise.reject(DOWN);

function callAndRead(breaker: CircuitBreakerPolicy, before: () => void = () => {}): Call {
  let calls = 0;

  return async () => {
    before();
    calls += 1;
    if (calls % FAILS_EVERY === 0) await breaker.execute(fail).catch(() => undefined);
    else await breaker.execute(answerAtOnce);

    return breaker.stats.failureRate;
  };
}

/** The window is full before the first call that counts. */
async function filled(call: Call, size: number): Promise<Call> {
  for (let made = 0; made < size; made++) await call();

  return call;
}

function ofCalls(size: number): Promise<Call> {
  const breaker = new CircuitBreakerPolicy({
    failureRateThreshold: 90,
    minimumCalls: 10,
    slidingWindow: { type: 'count', size },
  });

  return filled(callAndRead(breaker), size);
}

/** The time of the side that runs, as a test would set it. Each side has its own: what one does empties no window of the other. */
let currentMs = 0;

/** An hour with so many calls in it: time goes on by as much of an hour with each of them. */
function ofTime(size: number): Promise<Call> {
  const breaker = new CircuitBreakerPolicy({
    failureRateThreshold: 90,
    minimumCalls: 10,
    slidingWindow: { type: 'time', size: HOUR_MS },
  });
  let ownMs = Date.now();

  return filled(
    callAndRead(breaker, () => (currentMs = ownMs += HOUR_MS / size)),
    size,
  );
}

/** A recorded call and a read of the rate in a window of the last `size` calls, over one of the last `over`. */
export async function countWindow(size: number, over: number): Promise<Sides> {
  return { ours: await ofCalls(size), other: await ofCalls(over), bare: answerAtOnce };
}

/** The same in a window of time that holds so many. */
export async function timeWindow(size: number, over: number): Promise<Sides> {
  currentMs = Date.now();
  Date.now = () => currentMs;

  return { ours: await ofTime(size), other: await ofTime(over), bare: answerAtOnce };
}
