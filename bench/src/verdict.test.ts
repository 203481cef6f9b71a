import { describe, expect, it } from 'vitest';
import type { Row } from './row.js';
import { judge, targetOf } from './verdict.js';

const row: Row = {
  id: 'any',
  title: 'any',
  against: 'any',
  measure: 'ratio',
  hooks: 'off',
  target: { node20: 3, node24: 2 },
  sides: () => Promise.reject(new Error('not measured here')),
};

describe('the target of a row', () => {
  it.each([
    ['20.19.0', 3],
    ['22.12.0', 3],
    ['24.0.0', 2],
    ['26.1.0', 2],
  ])('is on Node %s the one for it', (node, target) => {
    expect(targetOf(row, node)).toBe(target);
  });

  it('is missing where the row only informs', () => {
    const { target: _target, ...informing } = row;

    expect(targetOf(informing, '20.19.0')).toBeUndefined();
  });
});

describe('the verdict', () => {
  it('is a pass up to the target and a miss above it', () => {
    expect(judge(0.7, 0.7)).toEqual({ kind: 'pass' });
    expect(judge(0.701, 0.7)).toMatchObject({ kind: 'miss', fails: false });
  });

  it('fails the command above a tenth more than the target', () => {
    expect(judge(1.1, 1)).toMatchObject({ kind: 'miss', fails: false });
    expect(judge(1.101, 1)).toMatchObject({ kind: 'miss', fails: true });
  });

  it('fails the command when nothing could be measured', () => {
    expect(judge(NaN, 1)).toMatchObject({ kind: 'miss', fails: true });
  });

  it('is information without a target', () => {
    expect(judge(5, undefined)).toEqual({ kind: 'info' });
  });
});
