// #region partner
import { Injectable } from '@nestjs/common';
import { ResilienceService, type ResiliencePolicy } from '@nestjs/resilience';
import { TrackingClient, type ParcelStatus } from './tracking.client.js';

@Injectable()
export class TrackingService {
  private readonly resiliencePolicy: ResiliencePolicy;

  constructor(
    resilience: ResilienceService,
    private readonly trackingClient: TrackingClient,
  ) {
    this.resiliencePolicy = resilience.preset('partner');
  }

  getParcel(trackingNumber: string): Promise<ParcelStatus> {
    return this.resiliencePolicy.execute(({ signal }) => this.trackingClient.getParcel(trackingNumber, signal), {
      source: 'TrackingService.getParcel',
    });
  }
}
// #endregion
