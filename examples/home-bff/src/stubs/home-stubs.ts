import { KEYS, type Key } from '../upstreams.js';
import { UpstreamStub, type StubOptions } from './upstream-stub.js';

/** One is quick, one is slow, and one never answers. */
const STUBS: Readonly<Record<Key, StubOptions>> = {
  user: { name: 'user', delayMs: 120, body: { id: 1, name: '金铭', vip: true } },
  order: { name: 'order', delayMs: 300, body: { count: 3, amount: '128.00' } },
  coupon: { name: 'coupon', mode: 'hang', body: { count: 2 } },
};

/** Stand-ins for the services that there are no addresses for. */
export async function startHomeStubs(stoodInFor: readonly Key[] = KEYS): Promise<readonly UpstreamStub[]> {
  return Promise.all(stoodInFor.map((key) => UpstreamStub.start(STUBS[key])));
}
