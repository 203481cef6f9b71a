/**
 * What `context.next()` does on Netlify: passes a request on to the origin. No limit ends it, since it is what the
 * request is for; the client does, by leaving.
 */
export async function fetchOrigin(origin: URL, request: Request): Promise<Response> {
  const url = new URL(origin);
  const { pathname, search } = new URL(request.url);
  url.pathname = pathname;
  url.search = search;
  try {
    // oxlint-disable-next-line eslint/no-restricted-globals -- the one call that no limit may end
    return await fetch(new Request(url, request), { redirect: 'manual' });
  } catch {
    return new Response('Bad gateway', { status: 502, headers: { 'cache-control': 'no-store' } });
  }
}
