import { moreThan } from '../run.js';
import type { Evidence } from './evidence.js';
import type { Verdict } from './verdict.js';

/**
 * In the first seconds after the warm-up code and caches still take one to two megabytes, and then the heap is flat, over
 * 25,000 requests as over 50,000. A leak of 60 bytes for each of these would be seen.
 */
const LARGEST_GROWTH_BYTES = 3_000_000;

export function memoryBack({ record }: Evidence): Verdict {
  const { before, after } = record;
  const grown = after.heapBytes - before.heapBytes;
  const text = `${(before.heapBytes / 1e6).toFixed(2)} MB before, ${(after.heapBytes / 1e6).toFixed(2)} MB after`;

  return {
    sentence: 'What was taken on the heap is given back',
    findings: grown > LARGEST_GROWTH_BYTES ? [text] : [],
    note: text,
  };
}

export function handlesBack({ record }: Evidence): Verdict {
  const { before, after } = record;

  return {
    sentence: 'Sockets and timers are as many as before',
    findings: moreThan(before, after).map(
      (kind) => `${kind}: ${before.resources[kind] ?? 0} before, ${after.resources[kind] ?? 0} after`,
    ),
    note: Object.entries(after.resources)
      .map(([kind, count]) => `${kind} ${count}`)
      .join(', '),
  };
}

export function noComplaints({ record }: Evidence): Verdict {
  return { sentence: 'No warning, and no rejection that nobody handled', findings: record.complaints };
}
