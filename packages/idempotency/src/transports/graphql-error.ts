import { encodeValue } from '../record/stored-value.js';
import type { IdempotencyStoredResponse } from '../store.js';
import type { FailedField } from './graphql-types.js';
import { storedHttpError } from './http-error.js';

const CLIENT_ERROR = 400;
const INTERNAL_ERROR = 500;

interface FieldErrorShape extends FailedField {
  readonly extensions: Readonly<Record<string, unknown>>;
}

/** What an error fails its field with, as it is kept. */
export function storedFieldError(error: unknown): IdempotencyStoredResponse {
  if (!isFieldError(error)) return { ...storedHttpError(error), headers: {} };

  const { message, extensions } = error;
  return { status: statusOf(extensions), headers: {}, body: encodeValue({ message, extensions }), error: 'graphql' };
}

/** By shape, since there may be several copies of `graphql`; errors derived from its own have names of their own. */
function isFieldError(error: unknown): error is FieldErrorShape {
  if (!(error instanceof Error)) return false;

  const { extensions } = error as Partial<FieldErrorShape>;
  const isKnown = error.name === 'GraphQLError' || Object.prototype.toString.call(error) === '[object GraphQLError]';
  return isKnown && typeof extensions === 'object' && extensions !== null;
}

/** The status of the answer that an error asks for, or that it would have had over HTTP; else its code decides. */
function statusOf({ http, httpStatus, code }: Readonly<Record<string, unknown>>): number {
  const asked = [(http as { readonly status?: unknown } | undefined | null)?.status, httpStatus].find(isStatus);
  if (asked !== undefined) return asked;

  return typeof code === 'string' && code !== 'INTERNAL_SERVER_ERROR' ? CLIENT_ERROR : INTERNAL_ERROR;
}

function isStatus(status: unknown): status is number {
  return Number.isInteger(status) && (status as number) >= 100 && (status as number) <= 599;
}
