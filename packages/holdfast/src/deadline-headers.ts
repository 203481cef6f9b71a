import type { Deadline } from './deadline.js';
import { OptionError, show } from './options.js';

/**
 * A deadline on the wire: how long the caller will wait, relative, since clocks of two machines are not the same. A
 * value from outside only ever shortens, and whatever is not exactly in its header's own form is ignored: nobody
 * outside lengthens a limit or switches one off.
 */

/** The largest value that is believed: an hour. */
const LONGEST_MS = 3_600_000;

interface HeaderForm {
  /** Milliseconds, or `NaN` when it is not in this form. */
  read(value: string): number;
  write(milliseconds: number): string;
}

const MILLISECONDS: HeaderForm = {
  read: (value) => (/^[0-9]{1,7}$/.test(value) ? Number(value) : NaN),
  write: String,
};

const MS_PER_GRPC_UNIT: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};

/** One to eight digits and a unit (gRPC over HTTP/2, "Timeout"). */
const GRPC: HeaderForm = {
  read(value) {
    const form = /^([0-9]{1,8})([HMSmun])$/.exec(value);
    return form === null ? NaN : Number(form[1]) * (MS_PER_GRPC_UNIT[form[2] as string] as number);
  },
  write: (milliseconds) => `${milliseconds}m`,
};

const FORMS: Readonly<Record<string, HeaderForm>> = {
  'x-request-timeout-ms': MILLISECONDS,
  'connect-timeout-ms': MILLISECONDS,
  'x-envoy-expected-rq-timeout-ms': MILLISECONDS,
  'grpc-timeout': GRPC,
};

/** The headers that can carry a deadline, in lower case. */
export const DEADLINE_HEADERS: readonly string[] = Object.keys(FORMS);

/** @throws TypeError when deadlines do not travel in a header of this name. */
export function requireDeadlineHeader(name: unknown, path: string): string {
  if (typeof name === 'string' && Object.hasOwn(FORMS, name.toLowerCase())) return name.toLowerCase();

  throw new OptionError(
    path,
    `${show(name)} is no header that carries a deadline. Known: ${DEADLINE_HEADERS.join(', ')}.`,
  );
}

/**
 * How long a caller will wait, in milliseconds above 0; `undefined` when it does not say, or not properly. The shortest
 * counts where several of the named headers are there.
 *
 * @param names Headers that the application trusts.
 * @param read The value of a header, or all of them when it came more than once. Given its name in lower case.
 * @throws TypeError when deadlines do not travel in a header of one of these names.
 */
export function readDeadline(
  names: readonly string[],
  read: (name: string) => string | readonly string[] | undefined,
): number | undefined {
  if (!Array.isArray(names)) throw new OptionError('names', `expected an array, got ${show(names)}.`);

  let shortest: number | undefined;
  for (const given of names as readonly string[]) {
    const name = requireDeadlineHeader(given, 'names');
    const budgetMs = readHeader(FORMS[name] as HeaderForm, read(name));
    if (budgetMs !== undefined) shortest = Math.min(shortest ?? Infinity, budgetMs);
  }

  return shortest;
}

function readHeader(form: HeaderForm, value: string | readonly string[] | undefined): number | undefined {
  if (typeof value !== 'string') return value?.length === 1 ? readHeader(form, value[0]) : undefined;

  const milliseconds = form.read(value);
  return milliseconds >= 1 && milliseconds <= LONGEST_MS ? milliseconds : undefined;
}

/**
 * The value of an outgoing header: what is left, rounded up to whole milliseconds, at least 1. Ask for it anew for
 * each attempt.
 *
 * @throws TypeError when deadlines do not travel in a header of this name.
 */
export function deadlineHeaderValue(name: string, deadline: Deadline): string {
  const form = FORMS[requireDeadlineHeader(name, 'name')] as HeaderForm;

  return form.write(Math.min(LONGEST_MS, Math.max(1, Math.ceil(deadline.remaining()))));
}
