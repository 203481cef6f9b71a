import { beforeEach, describe, expect, it, vi } from 'vitest';
import { reportTimeout, type TimeoutEvent } from './report.js';

const flags: TimeoutEvent = {
  step: 'flags',
  reason: 'upstream_timeout',
  waitedMs: 250,
  budgetLeftMs: 450,
  policy: 'open',
};

let lines: unknown[][];
beforeEach(() => {
  lines = [];
  vi.spyOn(console, 'log').mockImplementation((...args) => void lines.push(args));
});

describe('reportTimeout()', () => {
  it('writes one line of JSON', () => {
    reportTimeout(flags);

    expect(lines).toEqual([
      [
        '{"event":"edge.timeout","step":"flags","reason":"upstream_timeout","waitedMs":250,"budgetLeftMs":450,"policy":"open"}',
      ],
    ]);
  });

  it('writes times in whole milliseconds', () => {
    reportTimeout({ ...flags, waitedMs: 249.6, budgetLeftMs: 450.4 });

    expect(JSON.parse(String(lines[0]?.[0]))).toMatchObject({ waitedMs: 250, budgetLeftMs: 450 });
  });

  it('lets nothing else out: no message, no host, no stack', () => {
    const more = { ...flags, message: 'connect ECONNREFUSED 10.0.0.5:443', error: new Error('x'), event: 'other' };
    reportTimeout(more);

    expect(Object.keys(JSON.parse(String(lines[0]?.[0])) as object)).toEqual([
      'event',
      'step',
      'reason',
      'waitedMs',
      'budgetLeftMs',
      'policy',
    ]);
    expect(lines[0]?.[0]).toContain('"event":"edge.timeout"');
  });

  it('does not keep anybody from answering when the console throws', () => {
    vi.spyOn(console, 'log').mockImplementation(() => {
      throw new Error('closed');
    });

    expect(() => reportTimeout(flags)).not.toThrow();
  });

  it('takes known reasons and policies', () => {
    // @ts-expect-error -- misspelt
    const misspelt: TimeoutEvent = { ...flags, reason: 'timeout' };
    // @ts-expect-error -- half open is no policy
    const half: TimeoutEvent = { ...flags, policy: 'half-open' };

    expect([misspelt.reason, half.policy]).toEqual(['timeout', 'half-open']);
  });
});
