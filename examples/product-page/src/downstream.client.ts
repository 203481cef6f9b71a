// #region client
import { HttpService } from '@nestjs/axios';
import { Injectable } from '@nestjs/common';
import { firstValueFrom } from 'rxjs';

@Injectable()
export class DownstreamClient {
  constructor(private readonly http: HttpService) {}

  /** The signal ends the whole call: connecting, waiting and reading the body. */
  async get<T>(url: string, signal: AbortSignal): Promise<T> {
    const { data } = await firstValueFrom(this.http.get<T | null>(url, { signal }));
    // No content, or null, would look like a part that is there and has nothing to say.
    if (typeof data !== 'object' || data === null) throw new TypeError('The answer has no object and no list');

    return data;
  }
}
// #endregion
