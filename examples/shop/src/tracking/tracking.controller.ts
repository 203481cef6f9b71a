import { Controller, Get, Param } from '@nestjs/common';
import type { ParcelStatus } from './tracking.client.js';
import { TrackingService } from './tracking.service.js';

/** No decorators: the service's policy limits the calls, and its errors still become 503 and 504. */
@Controller('tracking')
export class TrackingController {
  constructor(private readonly trackingService: TrackingService) {}

  @Get(':trackingNumber')
  getParcel(@Param('trackingNumber') trackingNumber: string): Promise<ParcelStatus> {
    return this.trackingService.getParcel(trackingNumber);
  }
}
