import { expect, it } from 'vitest';
import { holdfast } from '../adapters/holdfast.js';
import { GUARANTEES } from '../guarantees/index.js';
import { verdictOf } from '../verdict.js';
import { TextbookBreaker, withBreaker } from './breaker.js';
import { TextbookBulkhead, withBulkhead } from './bulkhead.js';
import { TextbookRateLimit, withRateLimit } from './rate-limit.js';

const textbook = withRateLimit(TextbookRateLimit)(
  withBulkhead(TextbookBulkhead)(withBreaker(TextbookBreaker)(holdfast)),
);

const concerned = GUARANTEES.filter(({ policy }) => ['breaker', 'bulkhead', 'rate limit'].includes(policy));

// So that a mutant of one of them fails for what it breaks, and scenarios ask for nothing that only ours has.
it.each(concerned)('Textbook policies hold too: $policy: $sentence', async (guarantee) => {
  expect(await verdictOf(guarantee, textbook)).toEqual({ kind: 'holds' });
});
