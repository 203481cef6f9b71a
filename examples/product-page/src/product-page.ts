export interface Product {
  readonly id: string;
  readonly name: string;
}

export interface ReviewSummary {
  readonly stars: number;
  readonly count: number;
}

export interface ProductPage {
  readonly product: Product;
  /** `null` when nobody knows. */
  readonly reviews: ReviewSummary | null;
  readonly similar: readonly Product[];
  /** The services that are missing from the page. */
  readonly degraded: readonly string[];
}
