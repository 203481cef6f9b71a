import { ShopClient, type Answer } from './shop-client.js';
import { ShopProcesses } from './shop-processes.js';
import { summary } from './summary.js';
import { walkthrough, type StepReport } from './walkthrough.js';

/** Of characters: what all steps but the exports answer is shown. */
const LONGEST_BODY = 250;

/** One step for the terminal: when, what, its answers, and each documented outcome with whether it came. */
function print(report: StepReport, number: number, sinceStartMs: number): void {
  console.log(`\n${number}. ${report.title} (at ${seconds(sinceStartMs)}, took ${seconds(report.elapsedMs)})`);
  [...report.answers].sort((a, b) => a.elapsedMs - b.elapsedMs).forEach((answer) => console.log(`   ${line(answer)}`));
  report.log.forEach((text) => console.log(`   ${text}`));
  report.findings.forEach(({ met, expectation }) => console.log(`   ${met ? 'ok    ' : 'NOT OK'} ${expectation}`));
}

function line({ status, retryAfter, replayed, body, elapsedMs }: Answer): string {
  const shownHeaders = { 'Retry-After': retryAfter, 'Idempotent-Replayed': replayed };
  const header = Object.entries(shownHeaders)
    .map(([name, value]) => (value === null ? '' : ` ${name}: ${value}`))
    .join('');
  const shown = body.length > LONGEST_BODY ? `${body.length} characters` : body.trimEnd();
  return `${seconds(elapsedMs)}  ${status}${header} ${shown}`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}

const processes = new ShopProcesses();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void processes.stop().then(() => process.exit(1)));
}

try {
  const addresses = await processes.addresses();
  console.log(`Shop on ${addresses.shopUrl}, carrier stub on ${addresses.carrierUrl}.`);

  const start = performance.now();
  let number = 0;
  const reports: StepReport[] = [];
  for await (const report of walkthrough(new ShopClient(addresses), processes)) {
    print(report, ++number, performance.now() - start - report.elapsedMs);
    reports.push(report);
  }
  const verdict = summary(reports);
  console.log(`\n${verdict.text}`);
  process.exitCode = verdict.good ? 0 : 1;
} finally {
  await processes.stop();
}
