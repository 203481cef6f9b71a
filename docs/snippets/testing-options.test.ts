import { expect, it } from 'vitest';
import { AppModule } from './app.module.js';
// #region override
import { RESILIENCE_MODULE_OPTIONS, ResilienceService, type ResilienceModuleOptions } from '@nestjs/resilience';
import { Test } from '@nestjs/testing';

const quick: ResilienceModuleOptions = {
  presets: { carrier: { timeout: '50ms', retry: 2, circuitBreaker: { minimumCalls: 2, openDuration: '1s' } } },
};

const moduleRef = await Test.createTestingModule({ imports: [AppModule] })
  .overrideProvider(RESILIENCE_MODULE_OPTIONS)
  .useValue(quick)
  .compile();
// #endregion

it('runs with the settings of the test', () => {
  expect(moduleRef.get(ResilienceService).circuitBreaker('carrier').options.openDuration).toBe(1_000);
});
