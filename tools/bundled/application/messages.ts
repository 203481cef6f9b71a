import 'reflect-metadata';
import type { Server } from 'node:net';
import { Controller, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { MessagePattern, Transport, type MicroserviceOptions } from '@nestjs/microservices';
import { Idempotent, IdempotencyModule } from '@nestjs/idempotency';
import { ResilienceModule, Timeout } from '@nestjs/resilience';
import { Quotes } from './quotes.js';
import { serve } from './serve.js';

@Controller()
class QuotesController {
  constructor(private readonly quotes: Quotes) {}

  @MessagePattern('fine')
  fine() {
    return { fine: true };
  }

  @MessagePattern('slow')
  @Timeout('50ms')
  slow() {
    return this.quotes.never();
  }

  @MessagePattern('book')
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
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(AppModule, {
    logger: ['error', 'warn'],
    transport: Transport.TCP,
    options: { host: '127.0.0.1', port: 0 },
  });
  await app.listen();
  serve(app, app.unwrap<Server>());
}
