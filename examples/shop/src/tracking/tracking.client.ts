import { Injectable } from '@nestjs/common';

export interface ParcelStatus {
  readonly trackingNumber: string;
  readonly status: 'in-transit' | 'delivered';
}

/** Its `status` is what `isClientError` reads: an unknown parcel is no outage of the partner. */
export class TrackingError extends Error {
  override readonly name = 'TrackingError';

  constructor(readonly status: number) {
    super(`The tracking partner answered with status ${status}`);
  }
}

@Injectable()
export class TrackingClient {
  private readonly baseUrl = process.env.TRACKING_URL ?? 'https://api.tracking.example.com';

  async getParcel(trackingNumber: string, signal: AbortSignal): Promise<ParcelStatus> {
    const response = await fetch(`${this.baseUrl}/v1/parcels/${encodeURIComponent(trackingNumber)}`, { signal });

    if (!response.ok) {
      await response.body?.cancel();
      throw new TrackingError(response.status);
    }
    return (await response.json()) as ParcelStatus;
  }
}
