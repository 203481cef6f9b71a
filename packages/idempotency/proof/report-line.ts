import type { Report } from './run-case.js';

/** What a reader wants to know of a case, and what somebody needs who wants to see it again. */
export function reportLine({ wanted, violations, ...counts }: Report): string {
  const fault = wanted.fault === undefined ? '' : `, fault ${wanted.fault}`;
  const numbers = [
    `keys ${counts.keys}`,
    `requests ${counts.requests}`,
    `runs ${counts.runs}`,
    `effects ${counts.effects}`,
    `replays ${counts.replays}`,
    `conflicts ${counts.conflicts}`,
    `unavailable ${counts.unavailable}`,
    `kills ${counts.kills}`,
    `freezes ${counts.freezes}`,
    `outages ${counts.outages}`,
    `stalls ${counts.stalls}`,
    `seconds ${counts.seconds.toFixed(1)}`,
    `violations: ${violations.length}`,
  ];

  return `${wanted.store}, ${wanted.case}${fault}, seed ${wanted.seed}: ${numbers.join(', ')}`;
}
