import type { CarrierStats } from '../carrier-stub/call-counts.js';
import type { ShopClient } from './shop-client.js';
import type { ShopProcesses } from './shop-processes.js';
import { STEPS, type Seen, type Step } from './steps.js';

export type StepName = keyof typeof STEPS;

type Processes = Pick<ShopProcesses, 'log' | 'restart'>;

export interface Finding {
  readonly expectation: string;
  readonly met: boolean;
}

export interface StepReport extends Seen {
  readonly name: StepName;
  readonly title: string;
  readonly whenBusy: string;
  readonly elapsedMs: number;
  readonly findings: readonly Finding[];
}

/** How long a documented log line may lag behind the answer. */
const LOG_PATIENCE_MS = 2000;

/** Plays the steps in their order and reports each as it ends. The shop must be fresh: its breaker has seen nothing. */
export async function* walkthrough(shop: ShopClient, processes: Processes): AsyncGenerator<StepReport> {
  await shop.resetCarrier();
  for (const [name, step] of Object.entries(STEPS) as [StepName, Step][]) {
    yield { name, title: step.title, whenBusy: step.whenBusy, ...(await play(step, { shop, processes })) };
  }
}

async function play(
  step: Step,
  { shop, processes }: { shop: ShopClient; processes: Processes },
): Promise<Seen & Pick<StepReport, 'elapsedMs' | 'findings'>> {
  if (step.restart !== undefined) await processes.restart(step.restart);
  const { log } = processes;
  const before = await shop.carrierStats();
  const linesBefore = log.lines.length;

  const start = performance.now();
  const answers = await step.act(shop);
  const elapsedMs = performance.now() - start;

  const seen: Seen = {
    answers,
    log: await log.since(linesBefore, { awaited: step.log, patienceMs: LOG_PATIENCE_MS }),
    carrier: difference(await shop.carrierStats(), before),
  };
  return { ...seen, elapsedMs, findings: judge(step, seen) };
}

function judge(step: Step, { answers, log, carrier }: Seen): Finding[] {
  return [
    ...Object.entries(step.expected).map(([expectation, check]) => ({ expectation, met: check(answers) })),
    { expectation: `log lines: ${step.log.length}, as documented`, met: log.join('\n') === step.log.join('\n') },
    {
      expectation: `requests at the stub: ${step.carrier.requests}, cancelled: ${step.carrier.cancelled}`,
      met: carrier.requests === step.carrier.requests && carrier.cancelled === step.carrier.cancelled,
    },
  ];
}

function difference(after: CarrierStats, before: CarrierStats): Seen['carrier'] {
  return { requests: after.requests - before.requests, cancelled: after.cancelled - before.cancelled };
}
