/** The parts of the page, each from a service of its own. */
export const KEYS = ['user', 'order', 'coupon'] as const;

export type Key = (typeof KEYS)[number];

/** The address of each part. */
export type Upstreams = Readonly<Record<Key, string>>;

/** What a service answers. Nobody has checked more of it than that it is an object. */
export type Data = Readonly<Record<string, unknown>>;

/** @param origins Where the services are, each with or without a path of its own. */
export function upstreamsAt(origins: Readonly<Record<Key, string>>): Upstreams {
  const address = (key: Key): string => `${origins[key].replace(/\/+$/, '')}/${key}`;

  return { user: address('user'), order: address('order'), coupon: address('coupon') };
}
