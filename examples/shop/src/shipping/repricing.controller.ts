import { Controller, HttpCode, Post } from '@nestjs/common';
import { RepricingService } from './repricing.service.js';

/** Runs the job now: a shop in production would call it from a scheduler, every 15 minutes. */
@Controller('shipping')
export class RepricingController {
  constructor(private readonly repricingService: RepricingService) {}

  @Post('reprice')
  @HttpCode(200)
  async reprice(): Promise<{ repriced: number }> {
    return { repriced: await this.repricingService.repricePendingOrders() };
  }
}
