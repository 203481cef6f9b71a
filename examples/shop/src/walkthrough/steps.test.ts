import { describe, expect, it } from 'vitest';
import type { Answer } from './shop-client.js';
import { STEPS } from './steps.js';
import { summary } from './summary.js';

const answered = (sentAt: number, elapsedMs: number, status = 200): Answer => ({
  status,
  retryAfter: null,
  replayed: null,
  contentType: null,
  body: '',
  sentAt,
  elapsedMs,
});

describe('the look-ups of the walkthrough', () => {
  const check = STEPS.lookUps.expected['the last a second after the first look-up'];
  const five = Array.from({ length: 5 }, (_, index) => answered(10_000 + index, 20));
  const refused = answered(10_006, 20, 503);

  it('have their last answer a second after the first was sent', () => {
    expect(check([...five, answered(10_005, 995), refused])).toBe(true);
    expect(check([...five, answered(10_005, 980), refused])).toBe(false);
  });

  it('may be sent late, and then wait for less', () => {
    expect(check([...five, answered(10_600, 400), refused])).toBe(true);
    expect(check([...five, answered(10_600, 380), refused])).toBe(false);
  });

  it('are six that are answered, none of them after two seconds', () => {
    expect(check([...five, refused])).toBe(false);
    expect(check([...five, answered(10_005, 1_899)])).toBe(true);
    expect(check([...five, answered(10_005, 1_900)])).toBe(false);
  });
});

describe('the closing lines of the walkthrough', () => {
  const report = (step: keyof typeof STEPS, ...met: boolean[]) => ({
    whenBusy: STEPS[step].whenBusy,
    findings: met.map((one) => ({ expectation: 'as documented', met: one })),
  });

  it('are one when all is well', () => {
    expect(summary([report('live', true), report('exports', true, true)])).toEqual({
      good: true,
      text: 'Everything went as documented.',
    });
  });

  it('count what went wrong, with a hint for each step that did and none for the others', () => {
    const { good, text } = summary([
      report('opening', true),
      report('exports', false),
      report('lookUps', false, false),
    ]);

    expect(good).toBe(false);
    expect(text.split('\n')).toEqual([
      '3 outcomes were not as documented. On a busy machine, play it again:',
      STEPS.exports.whenBusy,
      STEPS.lookUps.whenBusy,
    ]);
    expect(text).not.toContain('timeout');
  });

  it('speak of one outcome that was missed as of one', () => {
    expect(summary([report('exports', false)]).text).toMatch(/^One outcome was not as documented\. /);
  });

  it('say the hint of several steps once', () => {
    expect(summary([report('hanging', false), report('opening', false)]).text.split('\n')).toHaveLength(2);
  });
});
