import { Module } from '@nestjs/common';
import { TrackingClient } from './tracking.client.js';
import { TrackingController } from './tracking.controller.js';
import { TrackingService } from './tracking.service.js';

@Module({
  controllers: [TrackingController],
  providers: [TrackingClient, TrackingService],
})
export class TrackingModule {}
