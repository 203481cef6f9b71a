import type { ExecutionContext } from '@nestjs/common';
import { expect, it } from 'vitest';
import { mergeOptions, readHandlerOptions } from '../settings.js';
import { keyBySetting } from './key-source.js';

it('A function may find the key by whatever can be awaited', async () => {
  // As queries of databases are.
  const query = { then: (resolve: (key: string) => void) => resolve('k') };
  const settings = mergeOptions(readHandlerOptions({ keyFrom: () => query }));
  const search = { places: {}, context: 'http', execution: {} as ExecutionContext } as const;

  expect(await keyBySetting(settings, search)).toEqual({ kind: 'key', key: 'k' });
});
