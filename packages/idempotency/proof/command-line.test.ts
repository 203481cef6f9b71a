import { describe, expect, it } from 'vitest';
import { readCommandLine } from './command-line.js';

describe('The command line of the proof', () => {
  it('asks for each case of each store once, from a seed that is drawn, when it says nothing', () => {
    const { seed, ...others } = readCommandLine([]);

    expect(others).toEqual({ store: undefined, case: undefined, fault: undefined, times: 1, seconds: 0 });
    expect(Number.isInteger(seed)).toBe(true);
  });

  it('may say which, from which seed on, how much of it, how long, and with which fault', () => {
    const args = ['--store', 'postgres', '--case', 'kills', '--fault', 'release-without-owner'];
    const numbers = ['--seed', '7', '--times', '3', '--seconds', '600'];

    expect(readCommandLine([...args, ...numbers])).toEqual({
      store: 'postgres',
      case: 'kills',
      fault: 'release-without-owner',
      seed: 7,
      times: 3,
      seconds: 600,
    });
  });

  it.each([
    [['--store', 'memory'], '--store: expected one of postgres, redis, got "memory".'],
    [['--seconds', 'x'], '--seconds: expected a whole number of at least 0, got "x".'],
    [['--seconds', ''], '--seconds: expected a whole number of at least 0, got "".'],
    [['--times', '0'], '--times: expected a whole number of at least 1, got "0".'],
    [['--fault', 'release-without-owner'], '--fault needs --store postgres.'],
    [['--nope'], "Unknown option '--nope'. Known options: --store, --case, --seed, --fault, --times, --seconds."],
  ])('refuses %j in one line', (args, message) => {
    expect(() => readCommandLine(args)).toThrow(new TypeError(message));
  });
});
