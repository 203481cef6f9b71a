// #region encryption
import { Module } from '@nestjs/common';
import { IdempotencyModule } from '@nestjs/idempotency';

@Module({
  imports: [
    IdempotencyModule.forRootAsync({
      useFactory: () => ({ encryption: { keys: (process.env.IDEMPOTENCY_KEYS ?? '').split(',') } }),
    }),
  ],
})
export class AppModule {}
// #endregion
