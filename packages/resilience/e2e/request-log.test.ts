import { Controller, Get, HttpCode, HttpException, NotFoundException, Post, Res, Sse } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import {
  BulkheadFullError,
  fanOut,
  optional,
  RequestLogInterceptor,
  required,
  ResilienceTimeoutError,
  Timeout,
} from '@nestjs/resilience';
import { concat, NEVER, of } from 'rxjs';
import { beforeEach, expect, it, vi } from 'vitest';
import { freezeTime, onBothAdapters } from './fixtures/application.js';
import { Backend, until } from './fixtures/backend.js';
import { send } from './fixtures/client.js';

let backend: Backend;

beforeEach(() => {
  backend = new Backend();
});

/** What both adapters' responses can do. */
interface AnyResponse {
  status(code: number): { send(body: unknown): void };
}

const missing = (name: string) =>
  optional(() => Promise.reject(new Error('down')), { timeout: '1s', fallback: null, name });

@Controller('product-pages')
class PagesController {
  @Get('whole')
  whole() {
    return fanOut({ product: required(() => 1, { timeout: '1s' }) });
  }

  @Get('degraded')
  degraded() {
    return fanOut({ a: missing('reviews'), b: missing('recommendations') }, { minimum: 0 });
  }

  @Get('flat')
  flat() {
    return { product: 1, degraded: ['recommendations'] };
  }

  @Get('odd')
  odd() {
    return { degraded: 'yes' };
  }

  @Get('text')
  text() {
    return 'text';
  }

  @Get('slow')
  async slow() {
    await backend.call();
    return fanOut({ a: missing('reviews') }, { minimum: 0 });
  }

  @Get('hanging')
  hanging() {
    return backend.call();
  }

  @Post('accepted')
  @HttpCode(202)
  accepted() {
    return {};
  }

  @Get('by-hand')
  byHand(@Res() response: AnyResponse) {
    response.status(207).send('by hand');
  }

  @Sse('events')
  events() {
    return of({ data: 'one' }, { data: 'two' });
  }

  @Sse('endless')
  endless() {
    return concat(of({ data: 'one' }), NEVER);
  }

  @Get('timeout')
  @Timeout('100ms')
  timeout() {
    return backend.call();
  }

  @Get('thrown/timeout')
  thrownTimeout() {
    throw new ResilienceTimeoutError(100, 'test');
  }

  @Get('thrown/full')
  full() {
    throw new BulkheadFullError('test', 'full');
  }

  @Get('thrown/section')
  section() {
    return fanOut({ catalog: required(() => Promise.reject(new Error('down')), { timeout: '1s' }) });
  }

  @Get('thrown/nothing')
  nothing() {
    return fanOut({ catalog: required(() => Promise.reject({ status: 404 }), { timeout: '1s' }) });
  }

  @Get('thrown/not-found')
  notFound() {
    throw new NotFoundException();
  }

  @Get('thrown/teapot')
  teapot() {
    throw new HttpException('teapot', 418);
  }

  @Get('thrown/unknown')
  unknown() {
    throw new Error('unknown');
  }
}

const PLACES = {
  'given by hand, inside of ours': {
    configure: (app: { useGlobalInterceptors(one: RequestLogInterceptor): unknown }) =>
      void app.useGlobalInterceptors(new RequestLogInterceptor()),
  },
  'provided, around ours': { providers: [{ provide: APP_INTERCEPTOR, useClass: RequestLogInterceptor }] },
};

onBothAdapters('A line for each request', (start) => {
  for (const [place, options] of Object.entries(PLACES)) {
    const startPages = () => start({ controllers: [PagesController], ...options });

    it.each([
      ['GET', '/product-pages/whole', 200, ''],
      ['GET', '/product-pages/whole?a=1', 200, ''],
      ['HEAD', '/product-pages/whole', 200, ''],
      ['GET', '/product-pages/degraded', 200, 'reviews,recommendations'],
      ['HEAD', '/product-pages/degraded', 200, 'reviews,recommendations'],
      ['GET', '/product-pages/flat', 200, 'recommendations'],
      ['GET', '/product-pages/odd', 200, ''],
      ['GET', '/product-pages/text', 200, ''],
      ['POST', '/product-pages/accepted', 202, ''],
      ['GET', '/product-pages/by-hand', 207, ''],
      ['GET', '/product-pages/events', 200, ''],
      ['GET', '/product-pages/thrown/timeout', 504, ''],
      ['GET', '/product-pages/thrown/full', 503, ''],
      ['GET', '/product-pages/thrown/section', 502, ''],
      ['GET', '/product-pages/thrown/nothing', 404, ''],
      ['GET', '/product-pages/thrown/not-found', 404, ''],
      ['GET', '/product-pages/thrown/teapot', 418, ''],
      ['GET', '/product-pages/thrown/unknown', 500, ''],
    ])(`${place}: %s %s has %i and [%s]`, async (method, path, status, degraded) => {
      const { call, log } = await startPages();
      const answer = await call(path, { method });
      await until(() => log.infos.length > 0);

      expect(answer.status).toBe(status);
      expect(log.lines.filter((line) => line.startsWith('[HTTP]'))).toEqual([
        expect.stringMatching(
          new RegExp(`^\\[HTTP\\] ${escaped(`${method} ${path}`)} ${status} \\d+ms degraded=\\[${degraded}\\]$`),
        ),
      ]);
    });

    it(`${place}: has the time that the answer took`, async () => {
      const { call, log } = await startPages();
      freezeTime();
      const answer = call('/product-pages/slow');
      const inside = await backend.reached(1);
      await vi.advanceTimersByTimeAsync(312);
      expect(log.infos).toEqual([]);
      inside.answer(1);
      await answer;
      await until(() => log.infos.length > 0);

      expect(log.infos).toEqual(['GET /product-pages/slow 200 312ms degraded=[reviews]']);
    });

    it(`${place}: has the status of a limit`, async () => {
      const { call, log } = await startPages();
      freezeTime();
      const answer = call('/product-pages/timeout');
      await backend.reached(1);
      await vi.advanceTimersByTimeAsync(100);
      await answer;
      await until(() => log.infos.length > 0);

      expect(log.infos).toEqual(['GET /product-pages/timeout 504 100ms degraded=[]']);
    });

    it(`${place}: says 499 when the client has left before there was an answer, once`, async () => {
      const { url, log } = await startPages();
      const outgoing = send(`${url}/product-pages/hanging`);
      const inside = await backend.reached(1);
      outgoing.destroy();
      await until(() => log.infos.length > 0);
      inside.answer('late');
      await new Promise((resolve) => void setImmediate(resolve));

      expect(log.infos).toEqual([expect.stringMatching(/^GET \/product-pages\/hanging 499 \d+ms degraded=\[\]$/)]);
    });

    it(`${place}: has the status that had left when a client leaves its events`, async () => {
      const { open, log } = await startPages();
      const answer = await open('/product-pages/endless');
      await answer.until('one');
      expect(log.infos).toEqual([]);
      answer.leave();
      await until(() => log.infos.length > 0);

      expect(log.infos).toEqual([expect.stringMatching(/^GET \/product-pages\/endless 200 \d+ms degraded=\[\]$/)]);
    });
  }
});

function escaped(text: string): string {
  return text.replaceAll(/[?/.]/g, '\\$&');
}
