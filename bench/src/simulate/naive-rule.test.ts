import { describe, expect, it } from 'vitest';
import { NaiveRule } from './naive-rule.js';

function trained(...answersMs: readonly number[]): NaiveRule {
  const rule = new NaiveRule();
  for (const answerMs of answersMs) rule.record(answerMs);

  return rule;
}

const answers = (count: number, latencyMs: number): number[] => Array.from({ length: count }, () => latencyMs);

describe('the naive rule', () => {
  it('gives twice five seconds until there are ten answers', () => {
    expect(trained().limitMs).toBe(10_000);
    expect(trained(...answers(9, 100)).limitMs).toBe(10_000);
    expect(trained(...answers(10, 100)).limitMs).toBe(200);
  });

  it('gives twice the longest until then, when that is more', () => {
    expect(trained(6_000, 100).limitMs).toBe(12_000);
  });

  it('looks at the last ten answers', () => {
    expect(trained(9_000, ...answers(5, 100), ...answers(5, 200)).limitMs).toBe(300);
  });

  it('learns nothing from calls that were cut', () => {
    const rule = trained(...answers(10, 100));
    rule.recordCut();

    expect(rule.limitMs).toBe(200);
  });
});
