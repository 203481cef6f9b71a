import type { ServerResponse } from 'node:http';
import { Controller, Get, Header, HttpCode, Post, Redirect, Render, Res } from '@nestjs/common';
import { Fallback, Retry, Timeout } from '@nestjs/resilience';
import { beforeEach, expect, it, vi } from 'vitest';
import { freezeTime, onBothAdapters } from './fixtures/application.js';
import { Backend, turns } from './fixtures/backend.js';

let backend: Backend;
const down = new Error('down');

beforeEach(() => {
  backend = new Backend();
});

/** What Express's response and Fastify's reply have in common, and the response of Node under it. */
interface AnyResponse {
  readonly raw?: ServerResponse;
  send(body: unknown): void;
  status(code: number): AnyResponse;
  header(name: string, value: string): unknown;
}

const nodeResponse = (response: AnyResponse): ServerResponse => response.raw ?? (response as unknown as ServerResponse);

const AT_ONCE = { attempts: 2, backoff: { delay: 0 } } as const;

@Controller()
class ResponsesController {
  @Get('manual')
  @Retry(AT_ONCE)
  @Timeout(100)
  async manual(@Res() response: AnyResponse) {
    response.status(202).send(await backend.call());
  }

  @Get('written')
  @Retry(AT_ONCE)
  @Timeout(100)
  async written(@Res() response: AnyResponse) {
    response.status(202).send('written');
    await backend.call();
  }

  @Get('passthrough')
  @Retry(AT_ONCE)
  @Timeout(100)
  passthrough(@Res({ passthrough: true }) response: AnyResponse) {
    response.header('x-attempt', String(backend.calls.length + 1));
    response.status(203);
    return backend.call();
  }

  @Get('half-written')
  @Retry(AT_ONCE)
  @Fallback(() => 'replaced')
  @Timeout(100)
  async halfWritten(@Res({ passthrough: true }) response: AnyResponse) {
    const raw = nodeResponse(response);
    raw.writeHead(200, { 'content-type': 'text/plain' });
    raw.write('half');
    try {
      await backend.call();
    } finally {
      raw.end();
    }
  }

  @Get('rendered')
  @Retry(AT_ONCE)
  @Render('quotes')
  rendered() {
    return backend.call();
  }

  @Get('redirected')
  @Retry(AT_ONCE)
  @Redirect('/default', 301)
  redirected() {
    return backend.call();
  }

  @Post('coded')
  @HttpCode(299)
  @Header('x-route', 'coded')
  @Timeout(100)
  coded() {
    return backend.call();
  }
}

onBothAdapters('What Nest does with a response', (start, adapter) => {
  const startResponses = () =>
    start({
      controllers: [ResponsesController],
      configure: (app) => {
        if (adapter === 'fastify') {
          const { decorateReply } = app.getHttpAdapter().getInstance() as {
            decorateReply(name: string, value: unknown): void;
          };
          decorateReply.call(
            app.getHttpAdapter().getInstance(),
            'view',
            function (this: AnyResponse, view: string, model: unknown) {
              this.header('content-type', 'text/html');
              this.send(`<${view}>${JSON.stringify(model)}`);
            },
          );
          return;
        }

        const express = app.getHttpAdapter().getInstance() as {
          engine(extension: string, render: unknown): void;
          set(name: string, value: unknown): void;
        };
        class View {
          constructor(readonly name: string) {}
          readonly path = 'in memory';
          render(
            model: { settings: unknown; _locals: unknown; cache: unknown },
            done: (error: null, html: string) => void,
          ) {
            const { settings: _settings, _locals, cache: _cache, ...own } = model;
            done(null, `<${this.name}>${JSON.stringify(own)}`);
          }
        }
        express.set('view', View);
      },
    });

  it('is as without stages for a handler that writes it itself, after a retry too', async () => {
    backend.script((call, nth) => (nth === 1 ? call.fail(down) : call.answer('written')));
    const { call } = await startResponses();

    expect(await call('/manual')).toMatchObject({ status: 202, text: 'written' });
    expect(backend.calls).toHaveLength(2);
  });

  it('is as without stages for a handler that touches it', async () => {
    backend.script((call, nth) => (nth === 1 ? call.fail(down) : call.answer('returned')));
    const { call } = await startResponses();

    const answer = await call('/passthrough');

    expect(answer).toMatchObject({ status: 203, text: 'returned' });
    expect(answer.headers['x-attempt']).toBe('2');
  });

  it('has the status of the error although the handler had set another one', async () => {
    const { call } = await startResponses();
    freezeTime();
    const answer = call('/passthrough');
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(101);
    await backend.reached(2);
    await vi.advanceTimersByTimeAsync(100);

    expect((await answer).status).toBe(504);
  });

  it('that has begun is neither repeated nor replaced nor limited: the client sees the part', async () => {
    const { call, events, log } = await startResponses();
    freezeTime();
    const answer = call('/half-written');
    const running = await backend.reached(1);
    await vi.advanceTimersByTimeAsync(60_000);
    running.fail(down);

    expect(await answer).toMatchObject({ status: 200, text: 'half' });
    expect(backend.calls).toHaveLength(1);
    expect(events).toEqual([]);
    await turns();
    expect(log.errors).toHaveLength(1);
  });

  it.each(['at once', 'later'])('that was sent is not repeated when the handler fails afterwards, %s', async (when) => {
    if (when === 'at once') backend.script((call) => call.fail(down));
    const { call, events } = await startResponses();
    const answer = call('/written');
    const running = await backend.reached(1);
    expect(await answer).toMatchObject({ status: 202, text: 'written' });
    running.fail(down);
    await turns();

    expect(backend.calls).toHaveLength(1);
    expect(events).toEqual([]);
  });

  it('is rendered from what the successful attempt returned', async () => {
    backend.script((call, nth) => (nth === 1 ? call.fail(down) : call.answer({ price: 4.99 })));
    const { call } = await startResponses();

    expect((await call('/rendered')).text).toBe('<quotes>{"price":4.99}');
  });

  it('redirects to where the successful attempt says', async () => {
    backend.script((call, nth) => (nth === 1 ? call.fail(down) : call.answer({ url: '/elsewhere', statusCode: 307 })));
    const { call } = await startResponses();

    const answer = await call('/redirected');

    expect(answer.status).toBe(307);
    expect(answer.headers.location).toBe('/elsewhere');
  });

  it('keeps the code and the headers of the route', async () => {
    backend.script((call) => call.answer('fine'));
    const { call } = await startResponses();

    const answer = await call('/coded', { method: 'POST' });

    expect(answer).toMatchObject({ status: 299, text: 'fine' });
    expect(answer.headers['x-route']).toBe('coded');
  });
});
