import { kindOf, show } from 'holdfast/binding';
import type { IdempotencyStoredResponse } from '../store.js';
import { setOwn } from './own-property.js';
import { UnreadableRecordError } from './unreadable-record.js';

const FIELDS: readonly string[] = ['status', 'headers', 'body', 'error', 'degraded'];
const ERRORS: readonly unknown[] = ['http', 'rpc', 'graphql'];

/** A token of RFC 9110, section 5.6.2, in lower case. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;

/** What Node lets into a header: no line break, nothing beyond Latin-1. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * A copy of what is a response in every field. A field of a later version is refused as well: what it means is not known
 * here, and a replay without it would be another answer.
 *
 * @throws UnreadableRecordError for anything else.
 */
export function readResponse(payload: unknown): IdempotencyStoredResponse {
  if (!isRecord(payload)) throw malformed(`is ${kindOf(payload)}, not a response`);
  const unknown = Object.keys(payload).find((name) => !FIELDS.includes(name));
  if (unknown !== undefined) throw malformed(`has the unknown field ${show(unknown)}`);

  const { status, headers, body, error, degraded } = own(payload);
  if (!isStatus(status)) throw malformed(`has ${typeof status === 'number' ? status : kindOf(status)} for a status`);
  if (error !== undefined && !ERRORS.includes(error)) throw malformed('has an unknown kind of error');

  return {
    status,
    headers: readHeaders(headers),
    ...(body !== undefined && { body }),
    ...(error !== undefined && { error: error as 'http' | 'rpc' | 'graphql' }),
    ...(degraded !== undefined && { degraded: readHeaders(degraded) }),
  };
}

function readHeaders(headers: unknown): IdempotencyStoredResponse['headers'] {
  if (!isRecord(headers)) throw malformed('has no headers');

  const copy = {};
  for (const [name, value] of Object.entries(headers)) {
    if (!HEADER_NAME.test(name)) throw malformed(`has a header of the malformed name ${show(name)}`);
    if (!isHeaderValue(value)) throw malformed(`has a malformed value in the header ${show(name)}`);
    setOwn(copy, name, typeof value === 'string' ? value : [...value]);
  }

  return copy;
}

function isHeaderValue(value: unknown): value is string | readonly string[] {
  if (Array.isArray(value)) return value.every((line) => typeof line === 'string' && HEADER_VALUE.test(line));

  return typeof value === 'string' && HEADER_VALUE.test(value);
}

function isStatus(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 100 && (value as number) <= 599;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Fields that an object only inherits, from a polluted prototype for instance, are not the record's. */
function own(payload: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.assign(Object.create(null), payload) as Record<string, unknown>;
}

function malformed(problem: string): UnreadableRecordError {
  return new UnreadableRecordError('malformed', problem);
}
