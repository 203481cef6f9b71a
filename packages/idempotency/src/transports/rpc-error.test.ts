import type { GrpcCall } from 'holdfast/nest';
import { describe, expect, it } from 'vitest';
import { storedMessageError } from './rpc-error.js';

const CALL = {} as GrpcCall;

/** As of a copy of its package that nobody here has. */
const thrown = (payload: unknown): object => ({ getError: () => payload });

function statusOf(payload: unknown, call?: GrpcCall): number {
  return storedMessageError(thrown(payload), call).status;
}

describe('The status that is kept of an error of gRPC', () => {
  it.each([
    ['INVALID_ARGUMENT', 3, 400],
    ['DEADLINE_EXCEEDED', 4, 504],
    ['NOT_FOUND', 5, 404],
    ['ALREADY_EXISTS', 6, 409],
    ['PERMISSION_DENIED', 7, 403],
    ['RESOURCE_EXHAUSTED', 8, 429],
    ['FAILED_PRECONDITION', 9, 400],
    ['ABORTED', 10, 409],
    ['OUT_OF_RANGE', 11, 400],
    ['UNIMPLEMENTED', 12, 501],
    ['UNAVAILABLE', 14, 503],
    ['UNAUTHENTICATED', 16, 401],
  ])('is that of gateways: %s (%i) is %i', (_name, code, status) => {
    expect(statusOf({ code, message: 'no' }, CALL)).toBe(status);
  });

  it.each([1, 2, 13, 15, 17, 0, NaN])('is 500 for %d, which says nothing of the request', (code) => {
    expect(statusOf({ code }, CALL)).toBe(500);
  });

  it('is its statusCode, where it has one', () => {
    expect(statusOf({ code: 5, statusCode: 410 }, CALL)).toBe(410);
  });
});

describe('The status that is kept of an error of any other transport', () => {
  it('is 400, whatever its code is', () => {
    expect([statusOf({ code: 5 }), statusOf({ code: 13 }), statusOf('declined'), statusOf(undefined)]).toEqual([
      400, 400, 400, 400,
    ]);
  });

  it('is its statusCode, if that is one of an error', () => {
    const given = [399, 400, 599, 600, 404.5, '404'];

    expect(given.map((statusCode) => statusOf({ statusCode }))).toEqual([400, 400, 599, 400, 400, 400]);
  });
});
