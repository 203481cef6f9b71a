import { describe, expect, it } from 'vitest';
import { parseMode } from './carrier-mode.js';

describe('parseMode', () => {
  it.each([
    [{ mode: 'answer' }, { mode: 'answer' }],
    [{ mode: 'hang' }, { mode: 'hang' }],
    [{ mode: 'fail' }, { mode: 'fail', status: 503 }],
    [
      { mode: 'fail', status: 429 },
      { mode: 'fail', status: 429 },
    ],
    [{ mode: 'slow' }, { mode: 'slow', delayMs: 1000 }],
    [
      { mode: 'slow', delayMs: 0 },
      { mode: 'slow', delayMs: 0 },
    ],
  ])('reads %j', (body, mode) => {
    expect(parseMode(body)).toEqual(mode);
  });

  it.each([
    [{}, 'mode: "answer", "hang", "fail" or "slow", not undefined'],
    [{ mode: 'Hang' }, 'mode: "answer", "hang", "fail" or "slow", not "Hang"'],
    [{ mode: 'fail', status: 399 }, 'status: a whole number from 400 to 599, not 399'],
    [{ mode: 'fail', status: '500' }, 'status: a whole number from 400 to 599, not "500"'],
    [{ mode: 'slow', delayMs: 60_001 }, 'delayMs: a whole number from 0 to 60000, not 60001'],
    [{ mode: 'slow', delayMs: 1.5 }, 'delayMs: a whole number from 0 to 60000, not 1.5'],
  ])('refuses %j and says what it takes', (body, message) => {
    expect(() => parseMode(body)).toThrow(message);
  });
});
