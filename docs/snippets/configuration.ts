// #region async
import { ResilienceModule } from '@nestjs/resilience';

interface CarrierSettings {
  readonly timeoutMs: number;
}

export const SETTINGS = Symbol('carrier settings');

export const resilience = ResilienceModule.forRootAsync({
  inject: [SETTINGS],
  useFactory: (settings: CarrierSettings) => ({
    presets: { carrier: { timeout: settings.timeoutMs, retry: 2 } },
  }),
});
// #endregion
