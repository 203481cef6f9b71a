import { connect, type ClientHttp2Session } from 'node:http2';
import type { Readable } from 'node:stream';
import { BadRequestException, Body, Controller, Post, Req } from '@nestjs/common';
import { Idempotent } from '@nestjs/idempotency';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { fanOut, optional, ResilienceModule } from '@nestjs/resilience';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { closeAfterEach, startApplication, type Application } from '../fixtures/http-application.js';

let runs: number;
let application: Application;
let connection: ClientHttp2Session;

@Controller()
@Idempotent()
class OrdersController {
  @Post('orders')
  create(@Body() body: object): object {
    runs += 1;
    return { runs, body };
  }

  @Post('raw')
  async raw(@Req() { raw }: { readonly raw: Readable }): Promise<object> {
    runs += 1;
    await new Promise((resolve, reject) => {
      raw.resume().once('end', resolve);
      raw.once('aborted', () => reject(new BadRequestException('request aborted')));
    });
    return { runs };
  }

  @Post('partial')
  partial() {
    runs += 1;
    const reviews = () => Promise.reject(new Error('down'));
    return fanOut({ reviews: optional(reviews, { timeout: '1s', fallback: null }) }, { minimum: 0 });
  }
}

interface Http2Answer {
  readonly status: unknown;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

function post(path: string, headers: Record<string, string | string[]>, body?: string): Promise<Http2Answer> {
  return new Promise((resolve, reject) => {
    const stream = connection.request({ ':path': path, ':method': 'POST', ...headers });
    let head: Record<string, unknown> = {};
    let text = '';
    stream.setEncoding('utf8');
    stream.on('response', (given) => (head = given));
    stream.on('data', (chunk: string) => (text += chunk));
    stream.on('end', () => resolve({ status: head[':status'], headers: head, text }));
    stream.on('error', reject);
    stream.end(body);
  });
}

closeAfterEach();

beforeEach(async () => {
  runs = 0;
  application = await startApplication('fastify', {
    controllers: [OrdersController],
    imports: [ResilienceModule.forRoot({})],
    fastify: new FastifyAdapter({ http2: true } as object),
    configure: (app) => {
      const server = app.getHttpAdapter().getInstance() as unknown as {
        addContentTypeParser(
          type: string,
          parser: (request: unknown, payload: unknown, done: (error: null) => void) => void,
        ): void;
      };
      server.addContentTypeParser('application/octet-stream', (_request, _payload, done) => done(null));
    },
  });
  connection = connect(application.url);
});

afterEach(() => connection.destroy());

const json = (key: string | string[], authority = 'a.example') => ({
  ':authority': authority,
  'content-type': 'application/json',
  'idempotency-key': key,
});

describe('Over HTTP/2', () => {
  it('a repeated request gets the stored answer', async () => {
    const first = await post('/orders', json('k'), '{"a":1}');
    const again = await post('/orders', json('k'), '{"a":1}');

    expect([first.status, again.status, again.text, runs]).toEqual([201, 201, first.text, 1]);
    expect(again.headers['idempotent-replayed']).toBe('true');
  });

  it('a key belongs to the authority and to the body', async () => {
    await post('/orders', json('k'), '{"a":1}');

    expect((await post('/orders', json('k', 'b.example'), '{"a":1}')).status).toBe(422);
    expect((await post('/orders', json('k'), '{"a":2}')).status).toBe(422);
  });

  it('a key on two lines is refused', async () => {
    const { status, text } = await post('/orders', json(['"a', 'b"']), '{}');

    expect([status, JSON.parse(text)]).toEqual([400, expect.objectContaining({ code: 'IDEMPOTENCY_KEY_INVALID' })]);
  });

  it('a body without a length is seen, and one that nobody parses is warned of', async () => {
    await post('/orders', { ...json('k'), 'content-type': 'application/octet-stream' }, 'bytes');
    expect(application.log.warnings).toEqual([
      expect.stringContaining('is called with a body that nothing has parsed'),
    ]);
  });

  it('what breaks off is no bad request for the repetition, which is whole and runs', async () => {
    const octets = { ...json('k'), 'content-type': 'application/octet-stream' };
    const stream = connection.request({ ':path': '/raw', ':method': 'POST', ...octets });
    stream.on('error', () => {});
    stream.write('half');
    await expect.poll(() => runs).toBe(1);
    stream.destroy(new Error('left'));
    await expect.poll(() => application.events.map(({ type }) => type)).toEqual(['executed', 'released']);

    expect((await post('/raw', octets, 'whole')).text).toBe('{"runs":2}');
  });

  it('no body is no reason for a warning', async () => {
    await post('/partial', { 'idempotency-key': 'k' });

    expect(application.log.warnings.filter((line) => line.includes('nothing has parsed'))).toEqual([]);
  });

  it('a partial answer is repeated with its marks', async () => {
    const first = await post('/partial', { 'idempotency-key': 'k' });
    const again = await post('/partial', { 'idempotency-key': 'k' });

    expect(first.headers['x-degraded']).toMatch(/^reviews=upstream_error/);
    expect([again.headers['x-degraded'], again.headers['cache-control'], again.text, runs]).toEqual([
      first.headers['x-degraded'],
      'no-store',
      first.text,
      1,
    ]);
  });
});
