import type { INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { expect, it, vi } from 'vitest';
import { liveQuotes, scriptCarrier } from './carrier.js';

it('starts the application, with its decorators at work', async () => {
  const create = NestFactory.create.bind(NestFactory) as (
    module: unknown,
    options: object,
  ) => Promise<INestApplication>;
  let app: INestApplication | undefined;
  vi.spyOn(NestFactory, 'create').mockImplementation(async (module: unknown) => {
    app = await create(module, { logger: false });
    return app;
  });
  vi.stubEnv('PORT', '0');
  await import('./main.js');
  const carrier = scriptCarrier([{ fail: 503 }, { answer: liveQuotes }]);

  const response = await fetch(`${await app?.getUrl()}/quotes/1001`);
  expect(await response.json()).toEqual(liveQuotes);
  expect(carrier.calls).toHaveLength(2);

  await app?.close();
  vi.unstubAllEnvs();
});
