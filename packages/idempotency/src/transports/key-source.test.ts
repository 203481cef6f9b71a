import type { ExecutionContext } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import type { KeyReading } from '../key/idempotency-key.js';
import { mergeOptions, readHandlerOptions } from '../settings.js';
import { keyBySetting } from './key-source.js';

const HEADER = (name: string): KeyReading => ({ kind: 'key', key: name });

describe('A place that a kind of call has not', () => {
  // The start of an application refuses those that it can see.
  it.each([
    [{ arg: 'id' }, 'http', /^keyFrom: \{ arg \} does not fit a call over http, whose keys are found by header\./],
    [{ payload: 'id' }, 'graphql', /^keyFrom: \{ payload \} does not fit a call over graphql/],
  ] as const)('fails each call: %j over %s', (keyFrom, context, message) => {
    const settings = mergeOptions(readHandlerOptions({ keyFrom }));
    const search = { places: { header: HEADER }, context, execution: {} as ExecutionContext };

    for (let n = 0; n < 2; n++) expect(() => keyBySetting(settings, search)).toThrow(message);
  });

  it('says nothing of the others', () => {
    const settings = mergeOptions(readHandlerOptions({ keyFrom: { rpc: { payload: 'id' } } }));
    const search = { places: { header: HEADER }, context: 'http', execution: {} as ExecutionContext } as const;

    expect(keyBySetting(settings, search)).toBeUndefined();
  });
});

it('A function may find the key by whatever can be awaited', async () => {
  // As queries of databases are.
  const query = { then: (resolve: (key: string) => void) => resolve('k') };
  const settings = mergeOptions(readHandlerOptions({ keyFrom: () => query }));
  const search = { places: {}, context: 'http', execution: {} as ExecutionContext } as const;

  expect(await keyBySetting(settings, search)).toEqual({ kind: 'key', key: 'k' });
});
