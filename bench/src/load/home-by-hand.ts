import type { AddressInfo } from 'node:net';
import { createHomeByHand } from '../floors/home-page.js';
import { turnOnPromiseHooks } from '../promise-hooks.js';

/** The page by hand as a process, started as that of the example is: parts by their addresses, where it listens as output. */

const { USER_URL, ORDER_URL, COUPON_URL } = process.env;

// The example has them on, as most applications have, and they cost both sides the same.
turnOnPromiseHooks();
const server = createHomeByHand({
  user: `${USER_URL}/user`,
  order: `${ORDER_URL}/order`,
  coupon: `${COUPON_URL}/coupon`,
});
server.listen(0, '127.0.0.1', () => {
  console.log(`Home: http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
