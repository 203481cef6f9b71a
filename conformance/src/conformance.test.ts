import { describe, expect, it } from 'vitest';
import { holdfast } from './adapters/holdfast.js';
import { GUARANTEES } from './guarantees/index.js';
import { verdictOf } from './verdict.js';

/** A mutant breaks one guarantee, and what cannot hold without it. */
const LEAST_HELD = 50;

describe('Our library', () => {
  it.each(GUARANTEES)('$policy: $sentence', async (guarantee) => {
    expect(await verdictOf(guarantee, holdfast)).toEqual({ kind: 'holds' });
  });
});

describe('The scenario of', () => {
  it.each(GUARANTEES)('$id fails a library that is right but for it', async (guarantee) => {
    const mutant = guarantee.mutant(holdfast);
    const others = GUARANTEES.filter(({ id }) => id !== guarantee.id);
    const verdicts = [];
    for (const other of others) verdicts.push(await verdictOf(other, mutant));

    expect(await verdictOf(guarantee, mutant)).toMatchObject({ kind: 'fails' });
    expect(verdicts.filter(({ kind }) => kind === 'holds').length).toBeGreaterThanOrEqual(
      Math.min(LEAST_HELD, others.length),
    );
  });
});
