import { afterEach, beforeEach, expect, vi, type MockInstance } from 'vitest';

// A test that expects output takes it over with a spy of its own; whatever reaches these is a surprise.
const METHODS = ['debug', 'error', 'info', 'log', 'trace', 'warn'] as const;
const STREAMS = ['stdout', 'stderr'] as const;

let spies: MockInstance[] = [];
let printed: string[] = [];

const record = (label: string, args: readonly unknown[]): void => {
  printed.push(
    `${label}: ${args.map((arg) => (arg instanceof Error ? (arg.stack ?? arg.message) : String(arg))).join(' ')}`,
  );
};

beforeEach(() => {
  printed = [];
  spies = METHODS.map((method) =>
    vi.spyOn(console, method).mockImplementation((...args: unknown[]) => record(`console.${method}`, args)),
  );
  for (const name of STREAMS) {
    const spy = vi.spyOn(process[name], 'write').mockImplementation((chunk: string | Uint8Array) => {
      record(`process.${name}`, [typeof chunk === 'string' ? chunk : new TextDecoder().decode(chunk)]);
      return true;
    });
    spies.push(spy);
  }
});

afterEach(() => {
  for (const spy of spies) spy.mockRestore();
  expect(printed, 'output that the test did not expect').toEqual([]);
});
