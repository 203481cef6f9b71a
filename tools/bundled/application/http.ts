import 'reflect-metadata';
import { Controller, Get, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Idempotent, IdempotencyModule } from '@nestjs/idempotency';
import { ResilienceModule, Timeout } from '@nestjs/resilience';
import { Quotes } from './quotes.js';
import { serve } from './serve.js';

@Controller()
class QuotesController {
  constructor(private readonly quotes: Quotes) {}

  @Get('fine')
  fine() {
    return { fine: true };
  }

  @Get('slow')
  @Timeout('50ms')
  slow() {
    return this.quotes.never();
  }

  @Post('bookings')
  @Idempotent()
  book() {
    return { booked: this.quotes.book() };
  }
}

@Module({
  imports: [IdempotencyModule.forRoot({ allowInMemoryStorage: true }), ResilienceModule.forRoot()],
  controllers: [QuotesController],
  providers: [Quotes],
})
class AppModule {}

export async function start(): Promise<void> {
  const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] });
  await app.listen(0, '127.0.0.1');
  serve(app, app.getHttpServer());
}
