import { Module, type DynamicModule } from '@nestjs/common';
import { AppModule } from './app.module.js';
import type { KeyDatabase } from './keys/key-database.js';
import { KeyStoreModule } from './keys/key-store.module.js';

/** The application as it is served: with keys that survive it. `AppModule` alone, as in tests, keeps them in memory. */
@Module({})
export class ServedModule {
  static withKeysIn(database: KeyDatabase): DynamicModule {
    return { module: ServedModule, imports: [KeyStoreModule.on(database), AppModule] };
  }
}
