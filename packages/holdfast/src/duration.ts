import { OptionError, show, unsetHint } from './options.js';

export type DurationUnit = 'ms' | 's' | 'm' | 'h' | 'd' | 'w';

/**
 * An amount of time: a number of milliseconds, or a string of a number and its unit such as `'250ms'`, `'1.5s'`,
 * `'2m'`, `'1h'`, `'7d'` or `'1w'`. Never negative, never infinite.
 */
export type Duration = number | `${number}${DurationUnit}`;

export interface DurationBounds {
  /** Refuse zero too. */
  readonly positive?: boolean;
  /** Round up to whole milliseconds, numbers too: for what takes no fraction, and must not get less time than was asked for. */
  readonly whole?: boolean;
}

const MS_PER_UNIT: Readonly<Record<DurationUnit, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

const DURATION = /^(\d+(?:\.\d+)?)(ms|[smhdw])$/;

/**
 * Milliseconds of a duration. Strings are rounded to whole milliseconds, numbers stay as they are, unless `bounds.whole`
 * asks for whole milliseconds that are never fewer.
 *
 * @throws TypeError when it is not a duration; the message begins with `path`, if there is one.
 */
export function parseDuration(value: unknown, path: string, bounds: DurationBounds = {}): number {
  const whole = bounds.whole === true;
  const milliseconds = typeof value === 'string' ? parseText(value, path, whole) : parseNumber(value, path, whole);
  if (milliseconds === 0 && bounds.positive === true) {
    throw new OptionError(path, `Invalid duration ${show(value)}: it must be greater than 0.`);
  }

  return milliseconds;
}

function parseNumber(value: unknown, path: string, whole: boolean): number {
  if (typeof value === 'number' && value >= 0 && value < Infinity) return whole ? Math.ceil(value) : value;

  throw new OptionError(
    path,
    `Invalid duration ${show(value)}: expected a non-negative number of milliseconds, or a string such as '250ms' or '1.5s'.${unsetHint(value)}`,
  );
}

function parseText(text: string, path: string, whole: boolean): number {
  const [, amount = '', unit = ''] = DURATION.exec(text) ?? [];
  const unitMs = MS_PER_UNIT[unit as DurationUnit];
  const milliseconds = whole && amount !== '' ? roundedUp(amount, unitMs) : Math.round(Number(amount) * unitMs);
  if (Number.isFinite(milliseconds)) return milliseconds;

  throw new OptionError(
    path,
    `Invalid duration ${show(text)}: expected a number and a unit (ms, s, m, h, d or w), such as '250ms', '1.5s' or '30m'.` +
      (/^\d+(\.\d+)?$/.test(text) ? ` Write ${text} or '${text}ms' for milliseconds.` : unsetHint(text)),
  );
}

/** Digit by digit: as floating point numbers, 1.1 times 1,000 is a little more than 1,100. */
function roundedUp(amount: string, unitMs: number): number {
  const [whole = '', fraction = ''] = amount.split('.');
  const divisor = 10n ** BigInt(fraction.length);

  return Number((BigInt(whole + fraction) * BigInt(unitMs) + divisor - 1n) / divisor);
}
