import { expect, it } from 'vitest';
import { upstreamsAt } from './upstreams.js';

it('the parts of the page are below the addresses of their services, which may have paths', () => {
  const origins = { user: 'http://127.0.0.1:39201', order: 'http://127.0.0.1:39202/', coupon: 'https://shop/v1//' };

  expect(upstreamsAt(origins)).toEqual({
    user: 'http://127.0.0.1:39201/user',
    order: 'http://127.0.0.1:39202/order',
    coupon: 'https://shop/v1/coupon',
  });
});
