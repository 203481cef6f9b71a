import type { PageService } from './page-service.js';

/** What is printed at the start: every line that begins with two spaces is a command for a shell. */
export function whatToTry({ url, stubs }: Pick<PageService, 'url' | 'stubs'>): string {
  const reviews = stubs.find(({ name }) => name === 'reviews');
  const trouble =
    reviews === undefined
      ? ''
      : `
Let the reviews hang; the page comes after 300 ms without them, and says so:
  curl -s -X POST ${reviews.url}/mode -d hang
  curl -s -i ${url}/product-pages/7
The other modes are answer, slow, fail, missing and trickle.
`;

  return `
Product page: ${url}
${stubs.map((stub) => `Stub of ${stub.name}: ${stub.url}\n`).join('')}Ctrl+C ends it.

The whole page:
  curl -s -i ${url}/product-pages/7
${trouble}`;
}
