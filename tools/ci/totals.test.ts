import { describe, expect, it } from 'vitest';
import { sum, totalsOf } from './totals.mjs';

const file = (status: string, ...tests: string[]) => ({
  status,
  assertionResults: tests.map((test) => ({ status: test })),
});

describe('the totals of all test runs', () => {
  it('add up tests by outcome, over files and runs', () => {
    const report = { testResults: [file('failed', 'passed', 'failed'), file('passed', 'passed', 'pending', 'todo')] };

    expect(totalsOf(report)).toEqual({ passed: 2, failed: 1, skipped: 2 });
    expect(
      sum([
        { name: 'tests', code: 1, report },
        { name: 'node-22', code: 1, report },
      ]),
    ).toEqual({ passed: 4, failed: 2, skipped: 4 });
  });

  it('count a file that did not load as one failure', () => {
    expect(totalsOf({ testResults: [file('failed'), file('failed', 'skipped')] })).toEqual({
      passed: 0,
      failed: 2,
      skipped: 1,
    });
  });

  it('count a failing step without tests as one failure, a passing one as nothing', () => {
    const steps = [
      { name: 'lint', code: 1, report: undefined },
      { name: 'types', code: 0, report: undefined },
    ];

    expect(sum(steps)).toEqual({ passed: 0, failed: 1, skipped: 0 });
  });

  it('count a run that fails although all its tests passed', () => {
    const report = { testResults: [file('passed', 'passed')] };

    expect(sum([{ name: 'tests', code: 1, report }])).toEqual({ passed: 1, failed: 1, skipped: 0 });
  });

  it('count a suite that ran no test, or left no report, as a failure', () => {
    const steps = [
      { name: 'tests', code: 0, report: { testResults: [] } },
      { name: 'node-24', code: 0, report: undefined },
    ];

    expect(sum(steps)).toEqual({ passed: 0, failed: 2, skipped: 0 });
  });
});
