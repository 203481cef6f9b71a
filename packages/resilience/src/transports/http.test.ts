import { HttpException, type ExecutionContext, type HttpServer } from '@nestjs/common';
import type { HttpAdapterHost } from '@nestjs/core';
import { CircuitOpenError } from 'holdfast';
import { describe, expect, it } from 'vitest';
import { readDegraded } from '../degradation/degraded-options.js';
import { HttpTransport } from './http.js';

/** As Express has it. */
const adapter = {
  isHeadersSent: (response: { readonly headersSent: boolean }) => response.headersSent,
  setHeader: (response: { set(name: string, value: string): void }, name: string, value: string) =>
    response.set(name, value),
} as unknown as HttpServer;

const transport = new HttpTransport({ httpAdapter: adapter } as HttpAdapterHost, readDegraded());

const contextOf = (...values: unknown[]) =>
  ({ getType: () => 'http', getArgByIndex: (index: number) => values[index] }) as unknown as ExecutionContext;

const NO_RESPONSES: [string, unknown[]][] = [
  ['nothing', []],
  ['null', [{}, null]],
  ['a text', ['job', 'token']],
  ['some other object', [{}, { id: 5 }]],
];

describe('a call that is said to be an HTTP request and has no response', () => {
  it.each(NO_RESPONSES)('is told the error all the same: %s in its place', (_case, values) => {
    const error = new CircuitOpenError('carrier', 5_000);
    const mapped = transport.translate(error, contextOf(...values)) as HttpException;

    expect(mapped).toBeInstanceOf(HttpException);
    expect(mapped.getStatus()).toBe(503);
    expect(mapped.cause).toBe(error);
  });

  it.each(NO_RESPONSES)('has sent nothing, and tells no end of a transfer: %s in its place', (_case, values) => {
    const state = transport.exchangeOf(contextOf(...values));

    expect(state.headersSent()).toBe(false);
    expect(state.canBeFollowed).toBe(false);
  });
});
