// #region service
import { Injectable } from '@nestjs/common';
import { fanOut, optional, required } from '@nestjs/resilience';
import { DownstreamClient } from './downstream.client.js';
import type { Product, ProductPage, ReviewSummary } from './product-page.js';
import { Upstreams } from './upstreams.js';

@Injectable()
export class ProductPageService {
  constructor(
    private readonly downstream: DownstreamClient,
    private readonly upstreams: Upstreams,
  ) {}

  async build(id: string) {
    const { catalog, reviews, recommendations } = this.upstreams;
    const path = `products/${encodeURIComponent(id)}`;
    const page = await fanOut({
      product: required(({ signal }) => this.downstream.get<Product>(`${catalog}/${path}`, signal), {
        name: 'catalog',
        timeout: '800ms',
      }),
      reviews: optional(({ signal }) => this.downstream.get<ReviewSummary>(`${reviews}/${path}/summary`, signal), {
        timeout: '300ms',
        fallback: null,
      }),
      similar: optional(({ signal }) => this.downstream.get<Product[]>(`${recommendations}/${path}/similar`, signal), {
        name: 'recommendations',
        timeout: '300ms',
        fallback: [],
      }),
    });

    return page.map(({ data, degraded }): ProductPage => ({
      ...data,
      degraded: degraded.map(({ section }) => section),
    }));
  }
}
// #endregion
