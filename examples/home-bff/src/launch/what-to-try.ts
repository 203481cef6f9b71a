import type { UpstreamStub } from '../stubs/upstream-stub.js';

export interface Addresses {
  readonly url: string;
  readonly stubs: readonly Pick<UpstreamStub, 'name' | 'url'>[];
}

/** What `npm start` prints: every line that begins with two spaces is a command for a shell. */
export function whatToTry({ url, stubs }: Addresses): string {
  const coupon = stubs.find(({ name }) => name === 'coupon');
  const user = stubs.find(({ name }) => name === 'user');

  return [
    '',
    `Home: ${url}`,
    ...stubs.map((stub) => `Stub of ${stub.name}: ${stub.url}`),
    'Ctrl+C ends it.',
    '',
    'The page. A part that gives nothing within 400 ms is null, and the answer says so:',
    `  curl -i -w '\\n  time_total=%{time_total}s\\n' ${url}/api/home`,
    ...(coupon === undefined ? [] : aboutLeaving(url, coupon.url)),
    'The same parts, waited for with Promise.all and a limit of ten seconds. Three are not enough for a byte of it:',
    `  curl -m 3 -w '  http_code=%{http_code}\\n' ${url}/api/home-naive`,
    ...(coupon === undefined ? [] : aboutCoupons(url, coupon.url)),
    ...(user === undefined ? [] : aboutTheUser(url, user.url)),
    '',
  ].join('\n');
}

function aboutLeaving(url: string, stub: string): string[] {
  return [
    'A client that leaves after 100 ms ends what was called for it. Nothing is in flight at the stub of coupon:',
    `  curl -m 0.1 ${url}/api/home; sleep 0.1; curl ${stub}/stats`,
  ];
}

function aboutCoupons(url: string, stub: string): string[] {
  return [
    'Coupons fail, which is not the same as a timeout:',
    `  curl -d fail ${stub}/mode && curl ${url}/api/home`,
    'Coupons answer. Nothing is missing:',
    `  curl -d answer ${stub}/mode && curl ${url}/api/home`,
  ];
}

function aboutTheUser(url: string, stub: string): string[] {
  return ['The user fails, and there is no page without it:', `  curl -d fail ${stub}/mode && curl -i ${url}/api/home`];
}
