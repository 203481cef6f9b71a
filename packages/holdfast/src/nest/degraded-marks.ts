import type { ServerResponse } from 'node:http';
import { isHeaderOfWholeAnswers } from '../sections/degraded-headers.js';
import { beforeHead, type ResponseHead } from './response-head.js';

/** The headers that say of an answer that something is missing in it, by their names. */
export type DegradedMarks = Readonly<Record<string, string | readonly string[]>>;

/** On a response. Registered, so that a package with another copy of this one finds them. */
const MARKS = Symbol.for('holdfast.degraded-marks');

interface Marked {
  [MARKS]?: () => DegradedMarks;
}

/**
 * Marks an answer in which something is missing, as the last one who sets its headers: it is not stored, and it replaces
 * what a client has, whatever conditions that sent. Of an answer that was marked already, the first marks count.
 *
 * @param read Called when the head is about to leave, and by whoever wants to repeat the answer.
 */
export function markDegraded(response: ServerResponse, read: () => DegradedMarks): void {
  dropConditions(response);
  if ((response as Marked)[MARKS] !== undefined) return;

  Reflect.defineProperty(response, MARKS, { value: read });
  beforeHead(response, (head) => setMarks(head, read()));
}

/** The marks of an answer; `undefined` when nobody has marked it. */
export function degradedMarksOf(response: object): DegradedMarks | undefined {
  return (response as Marked)[MARKS]?.();
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
