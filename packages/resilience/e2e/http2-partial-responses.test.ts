import { Controller, Get, Res } from '@nestjs/common';
import { fanOut, optional, required, Timeout } from '@nestjs/resilience';
import { beforeEach, expect, it } from 'vitest';
import { onBothAdapters } from './fixtures/application.js';
import { Backend } from './fixtures/backend.js';
import { startHttp2 } from './fixtures/http2.js';

let reviews: Backend;

beforeEach(() => {
  reviews = new Backend();
});

const page = () =>
  fanOut({
    product: required(() => ({ id: '7' }), { name: 'catalog', timeout: '800ms' }),
    reviews: optional(({ signal }) => reviews.call(signal), { timeout: '300ms', fallback: null }),
  });

const ofTheWholePage = {
  'cache-control': 'public, max-age=600',
  'last-modified': 'Mon, 01 Jan 2024 00:00:00 GMT',
  expires: 'Mon, 01 Jan 2035 00:00:00 GMT',
  'cdn-cache-control': 'max-age=3600',
  'cloudflare-cdn-cache-control': 'max-age=3600',
  'surrogate-control': 'max-age=3600',
};

@Controller('pages')
class PagesController {
  @Get('plain')
  plain() {
    return page();
  }

  @Get('cached')
  @Timeout('2s')
  cached(@Res({ passthrough: true }) response: { header(name: string, value: string): unknown }) {
    for (const [name, value] of Object.entries(ofTheWholePage)) response.header(name, value);
    response.header('ETag', '"of-the-whole-page"');
    response.header('Content-Language', 'en');
    return page();
  }
}

const missing = (): void => reviews.script((call) => call.fail(new Error('secret-host:5432 refused')));
const there = (): void => reviews.script((call) => call.answer({ stars: 4 }));

onBothAdapters('A partial response over HTTP/2', (start, adapter) => {
  const startPages = (options = {}) => startHttp2(start, adapter, { controllers: [PagesController], options });

  it.each(['plain', 'cached'])('says in its headers what is missing, and is kept by no cache (%s)', async (route) => {
    missing();
    const { request } = await startPages();
    const { status, headers, text } = await request(`/pages/${route}`);

    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({ data: { product: { id: '7' }, reviews: null }, partial: true });
    expect(headers).toMatchObject({
      'content-type': expect.stringMatching(/^application\/json/),
      'x-degraded': expect.stringMatching(/^reviews=upstream_error;\d+$/),
      'cache-control': 'no-store',
    });
    const { 'cache-control': _replaced, ...removed } = ofTheWholePage;
    for (const name of ['etag', 'server-timing', ...Object.keys(removed)]) expect(headers).not.toHaveProperty(name);
  });

  it('has the headers of its route when it is whole', async () => {
    there();
    const { request } = await startPages();
    const { headers, text } = await request('/pages/cached');

    expect(JSON.parse(text)).toMatchObject({ data: { reviews: { stars: 4 } }, partial: false });
    expect(headers).toMatchObject({ ...ofTheWholePage, etag: '"of-the-whole-page"' });
    expect(headers).not.toHaveProperty('x-degraded');
  });

  it('tells how long its sections took when it shall, whole or not', async () => {
    const { request } = await startPages({ degraded: { header: 'X-Missing', serverTiming: true } });
    there();
    expect((await request('/pages/plain')).headers['server-timing']).toMatch(/^catalog;dur=\d+, reviews;dur=\d+$/);

    missing();
    const { headers } = await request('/pages/plain');
    expect(headers['server-timing']).toMatch(/^catalog;dur=\d+, reviews;dur=\d+;desc="upstream_error"$/);
    expect(headers['x-missing']).toMatch(/^reviews=upstream_error;\d+$/);
  });

  it.each([{ 'if-none-match': '*' }, { 'if-modified-since': 'Mon, 01 Jan 2035 00:00:00 GMT' }])(
    'is sent whatever the client has: %o',
    async (condition) => {
      missing();
      const { request } = await startPages();
      const { status, text } = await request('/pages/cached', condition);

      expect(status).toBe(200);
      expect(JSON.parse(text)).toMatchObject({ partial: true });
    },
  );

  it('is marked for HEAD too', async () => {
    missing();
    const { request } = await startPages();
    const { status, headers, text } = await request('/pages/cached', { ':method': 'HEAD' });

    expect([status, text]).toEqual([200, '']);
    expect(headers).toMatchObject({
      'x-degraded': expect.stringMatching(/^reviews=upstream_error;\d+$/),
      'cache-control': 'no-store',
      'content-language': 'en',
    });
    expect(headers).not.toHaveProperty('etag');
  });

  if (adapter === 'express') {
    it('is compared with what the client has when it is whole', async () => {
      there();
      const { request } = await startPages();
      const { headers } = await request('/pages/plain');
      const again = await request('/pages/plain', { 'if-none-match': String(headers.etag) });

      expect(headers.etag).toMatch(/^W\//);
      expect(again.status).toBe(304);
    });
  }
});
