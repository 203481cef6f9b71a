export const UPSTREAMS = ['catalog', 'reviews', 'recommendations'] as const;

export type Upstream = (typeof UPSTREAMS)[number];

/** Where the services are that a page is made of, without a slash at the end. */
export abstract class Upstreams implements Readonly<Record<Upstream, string>> {
  abstract readonly catalog: string;
  abstract readonly reviews: string;
  abstract readonly recommendations: string;
}
