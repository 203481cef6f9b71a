import 'reflect-metadata';
import { HttpModule } from '@nestjs/axios';
import { Module, type DynamicModule } from '@nestjs/common';
import { ResilienceModule } from '@nestjs/resilience';
import { DownstreamClient } from './downstream.client.js';
import { ProductPageController } from './product-page.controller.js';
import { ProductPageService } from './product-page.service.js';
import { Upstreams } from './upstreams.js';

/** An answer that is no JSON is an error, and not a text; one without an end is given up long before the limit. */
const HTTP = {
  responseType: 'json',
  transitional: { silentJSONParsing: false },
  maxContentLength: 1_000_000,
} as const;

@Module({
  imports: [HttpModule.register(HTTP), ResilienceModule.forRoot()],
  controllers: [ProductPageController],
  providers: [ProductPageService, DownstreamClient],
})
export class AppModule {
  static with(upstreams: Upstreams): DynamicModule {
    return { module: AppModule, providers: [{ provide: Upstreams, useValue: upstreams }] };
  }
}
