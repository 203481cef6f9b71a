import type { ServerResponse } from 'node:http';
import { isHeaderOfWholeAnswers, joinLists } from '../sections/degraded-headers.js';
import { beforeHead, type ResponseHead } from './response-head.js';

/** The headers that say of an answer that something is missing in it, by their names. */
export type DegradedMarks = Readonly<Record<string, string | readonly string[]>>;

type Read = () => DegradedMarks;

/** What was said of one answer: by whom, or of which part of it, and what. */
type Marks = Map<unknown, Read>;

/** Registered, so that a package with another copy of this one finds them. Beside the subjects, which may be frozen. */
const MARKS = Symbol.for('holdfast.degraded-marks');

const marked = ((globalThis as Record<symbol, unknown>)[MARKS] ??= new WeakMap()) as WeakMap<object, Marks>;

/** All that runs for an answer, in whatever copy of a package. */
const HANDLERS = 'handlers';
const CACHE_CONTROL = 'cache-control';

/**
 * Marks an answer in which something is missing, as the last one who sets its headers: it is not stored, and it replaces
 * what a client has, whatever conditions that sent.
 *
 * @param read Called when the head is about to leave, and by whoever wants to repeat the answer.
 * @param part What it speaks of, where several parts leave as one answer, which then lists what is missing in each. Of the
 * same part the first marks count.
 */
export function markDegraded(response: ServerResponse, read: Read, part: unknown = HANDLERS): void {
  dropConditions(response);
  const isFirst = !marked.has(response);
  keepDegradedMarks(response, read, part);
  if (isFirst) beforeHead(response, (head) => setMarks(head, degradedMarksOf(response) ?? {}));
}

/** Keeps the marks of an answer whose head is out of reach, or of a part of one, for whoever asks. */
export function keepDegradedMarks(subject: object, read: Read, part: unknown = HANDLERS): void {
  const marks: Marks = marked.get(subject) ?? new Map<unknown, Read>();
  marked.set(subject, marks);
  if (!marks.has(part)) marks.set(part, read);
}

/** The marks of an answer, or of what stands for it; `undefined` when nobody has marked it. */
export function degradedMarksOf(subject: object): DegradedMarks | undefined {
  const marks = marked.get(subject);

  return marks && joined([...marks.values()].map((read) => read()));
}

/** What is missing is listed for all parts, under the names that each has for it; to caches the first one speaks. */
function joined(parts: readonly DegradedMarks[]): DegradedMarks {
  const [first = {}] = parts;
  if (parts.length < 2) return first;

  const byName = new Map<string, { readonly name: string; readonly values: string[] }>();
  for (const [name, value] of parts.flatMap((part) => Object.entries(part))) {
    const known = byName.get(name.toLowerCase());
    if (known === undefined) byName.set(name.toLowerCase(), { name, values: [value].flat() });
    else known.values.push(...[value].flat());
  }

  return Object.fromEntries(
    [...byName].map(([key, { name, values }]) => [name, key === CACHE_CONTROL ? (values[0] ?? '') : joinLists(values)]),
  );
}

function setMarks(head: ResponseHead, marks: DegradedMarks): void {
  for (const name of head.getHeaderNames().filter(isHeaderOfWholeAnswers)) head.removeHeader(name);
  for (const [name, value] of Object.entries(marks)) head.setHeader(name, value);
}

/** No answer but a whole one: what the client has from before is not to be compared with this one. */
function dropConditions(response: ServerResponse): void {
  // Without a request behind a response that only looks like one.
  const headers = (response as Partial<ServerResponse>).req?.headers;
  delete headers?.['if-none-match'];
  delete headers?.['if-modified-since'];
}
