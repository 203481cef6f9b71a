// #region client
import { HttpService } from '@nestjs/axios';
import { Injectable } from '@nestjs/common';
import { firstValueFrom } from 'rxjs';

@Injectable()
export class DownstreamClient {
  constructor(private readonly http: HttpService) {}

  /** The signal ends the whole call: connecting, waiting and reading the body. */
  async get<T>(url: string, signal: AbortSignal): Promise<T> {
    const { data } = await firstValueFrom(this.http.get<T>(url, { signal }));
    return data;
  }
}
// #endregion
