import { Body, Catch, Controller, Header, HttpException, Post, type ArgumentsHost } from '@nestjs/common';
import {
  IdempotencyRejectedError,
  Idempotent,
  type Duration,
  type IdempotencyModuleOptions,
  type IdempotencyStore,
} from '@nestjs/idempotency';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { newKey, onBothAdapters, type Start } from '../fixtures/http-application.js';
import { newGate, type Gate } from '../fixtures/gate.js';
import { sourceOf } from '../fixtures/stores.js';

let runs: number;
let gate: Gate;
beforeEach(() => {
  runs = 0;
  gate = newGate();
});
afterEach(() => gate.open());

@Controller()
@Idempotent({ required: true })
class OrdersController {
  @Post('orders')
  create(@Body() body: object): object {
    runs += 1;
    return { id: runs, ...body };
  }

  @Post('slow')
  async slow(): Promise<object> {
    runs += 1;
    await gate.opened;
    return { id: runs };
  }

  @Post('csv')
  @Header('Content-Type', 'text/csv')
  csv(): string {
    return 'a,b';
  }
}

const controllers = [OrdersController];
const CSV_BODY = { statusCode: 400, error: 'Bad Request', code: 'IDEMPOTENCY_KEY_REQUIRED' };

/** A call that has reached its handler. */
async function inFlight(start: Start, options: IdempotencyModuleOptions = {}) {
  const app = await start({ controllers, options });
  const key = newKey();
  const first = app.call('/slow', key);
  await expect.poll(() => runs).toBe(1);

  return { ...app, key, first };
}

onBothAdapters('A call over HTTP is refused', (start) => {
  it('without a key, where one is required', async () => {
    const { call, events } = await start({ controllers });
    const { status, body } = await call('/orders');

    expect([status, body]).toEqual([
      400,
      {
        statusCode: 400,
        error: 'Bad Request',
        code: 'IDEMPOTENCY_KEY_REQUIRED',
        message: 'This call needs an idempotency key',
      },
    ]);
    expect(events).toEqual([
      {
        type: 'rejected',
        context: 'http',
        handler: 'OrdersController.create',
        code: 'IDEMPOTENCY_KEY_REQUIRED',
        status: 400,
      },
    ]);
  });

  it.each(['', '   ', '""', '"  "'])('with %j in the place of a key', async (key) => {
    const { call } = await start({ controllers });

    expect((await call('/orders', key)).body).toMatchObject({ code: 'IDEMPOTENCY_KEY_REQUIRED' });
  });

  it('with a malformed key, without a word to the store', async () => {
    const source = sourceOf(() => ({
      acquire: () => Promise.reject(new Error('not to be asked')),
    }));
    const { call, log } = await start({ controllers, providers: [source] });
    const { status, body } = await call('/orders', 'ä');

    expect([status, body]).toEqual([
      400,
      {
        statusCode: 400,
        error: 'Bad Request',
        code: 'IDEMPOTENCY_KEY_INVALID',
        message: 'The idempotency key has characters other than printable ASCII',
      },
    ]);
    expect((await call('/orders')).status).toBe(400);
    expect(log.errors).toEqual([]);
  });

  it('with a key that was used for something else', async () => {
    const { call, events } = await start({ controllers });
    const key = newKey();
    await call('/orders', key, { body: { item: 1 } });
    const { status, body, headers } = await call('/orders', key, { body: { item: 2 } });

    expect([status, body]).toEqual([
      422,
      {
        statusCode: 422,
        error: 'Unprocessable Entity',
        code: 'IDEMPOTENCY_KEY_REUSED',
        message: 'This idempotency key was used for another request. Use a new one',
      },
    ]);
    expect(headers).not.toHaveProperty('retry-after');
    expect(headers).not.toHaveProperty('idempotent-replayed');
    expect(events.at(-1)).toMatchObject({ type: 'rejected', code: 'IDEMPOTENCY_KEY_REUSED', status: 422 });
  });

  it.each<[Duration, string]>([
    ['1s', '1'],
    ['2500ms', '3'],
    [0, '0'],
    ['1h', '3600'],
  ])('while the first one runs, and told to come back after %s', async (retryAfter, seconds) => {
    const { call, key, first } = await inFlight(start, { retryAfter });
    const { status, body, headers } = await call('/slow', key);

    expect([status, body]).toEqual([
      409,
      {
        statusCode: 409,
        error: 'Conflict',
        code: 'IDEMPOTENCY_KEY_IN_USE',
        message: 'A call with this idempotency key is running',
      },
    ]);
    expect(headers['retry-after']).toBe(seconds);
    expect(headers).not.toHaveProperty('idempotent-replayed');
    gate.open();
    expect((await first).status).toBe(201);
  });

  it('with 422, and not with 409, while another request with its key runs', async () => {
    const { call, key, first } = await inFlight(start);

    expect((await call('/slow', key, { body: { other: true } })).status).toBe(422);
    expect((await call('/orders', key)).status).toBe(422);
    gate.open();
    await first;
  });

  it('but once, of any number at the same moment', async () => {
    const { call } = await start({ controllers });
    const key = newKey();
    const statuses: number[] = [];
    const all = Array.from({ length: 12 }, () => call('/slow', key).then(({ status }) => statuses.push(status)));
    await expect.poll(() => statuses.length).toBe(11);
    gate.open();
    await Promise.all(all);

    expect(statuses).toEqual([...Array.from({ length: 11 }, () => 409), 201]);
    expect((await call('/slow', key)).replayed).toBe(true);
    expect(runs).toBe(1);
  });

  it('when its record cannot be read, and the handler does not run', async () => {
    const source = sourceOf(() => ({
      acquire: (_key, _owner, fingerprint) =>
        Promise.resolve({ state: 'completed', fingerprint, response: { a: 1 } as never }),
    }));
    const { call, log } = await start({ controllers, providers: [source] });
    const { status, body } = await call('/orders', newKey());

    expect([status, body]).toEqual([
      500,
      {
        statusCode: 500,
        error: 'Internal Server Error',
        code: 'IDEMPOTENCY_RECORD_UNREADABLE',
        message: 'The stored response cannot be read',
      },
    ]);
    expect(runs).toBe(0);
    expect(log.errors).toEqual([expect.stringContaining('the stored record cannot be read')]);
  });

  it('when the store cannot be reached, and told to come back', async () => {
    const source = sourceOf(() => ({
      acquire: () => Promise.reject(new Error('down')),
      release: () => Promise.resolve(false),
    }));
    const { call, log } = await start({ controllers, providers: [source], options: { retryAfter: '1500ms' } });
    const { status, body, headers } = await call('/orders', newKey());

    expect([status, body, headers['retry-after']]).toEqual([
      503,
      {
        statusCode: 503,
        error: 'Service Unavailable',
        code: 'IDEMPOTENCY_STORE_UNAVAILABLE',
        message: 'Idempotency keys cannot be looked up',
      },
      '2',
    ]);
    expect(runs).toBe(0);
    expect(log.errors).toHaveLength(1);
  });

  it('in JSON, where the route declares another type', async () => {
    const { call, log } = await start({ controllers });
    const { headers, body } = await call('/csv');

    expect(headers['content-type']).toBe('application/json; charset=utf-8');
    expect(body).toMatchObject(CSV_BODY);
    expect(log.warnings).toEqual([]);
  });

  it('by way of the exception filters of the application', async () => {
    @Catch(HttpException)
    class Filter {
      catch(error: HttpException, host: ArgumentsHost): void {
        const { cause } = error as { readonly cause?: unknown };
        const response = host.getArgByIndex<{ status(code: number): { send(body: unknown): void } }>(1);
        response.status(error.getStatus() + 40).send({ code: (cause as IdempotencyRejectedError).code });
        expect(cause).toBeInstanceOf(IdempotencyRejectedError);
      }
    }
    const { call } = await start({ controllers, configure: (app) => app.useGlobalFilters(new Filter()) });
    const { status, body } = await call('/orders');

    expect([status, body]).toEqual([440, { code: 'IDEMPOTENCY_KEY_REQUIRED' }]);
  });

  it('without harm to the process, when middleware has answered before', async () => {
    const { call, log } = await start({
      controllers,
      options: { problemDetails: true },
      middleware: (consumer) =>
        consumer
          .apply((_request: unknown, response: { end(body: string): void }, next: () => void) => {
            response.end('middleware');
            next();
          })
          .forRoutes('*all'),
    });
    const { text } = await call('/orders');

    expect(text).toBe('middleware');
    expect(log.warnings).toEqual([]);
  });
});

onBothAdapters('With problemDetails, a call is refused', (start) => {
  it('in the form of RFC 9457, with a link to what the draft says of it', async () => {
    const { call } = await start({ controllers, options: { problemDetails: true } });
    const { status, headers, text } = await call('/orders');

    expect([status, headers['content-type'], JSON.parse(text)]).toEqual([
      400,
      expect.stringMatching(/^application\/problem\+json/),
      {
        type: 'https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-idempotency-key-header-07#IDEMPOTENCY_KEY_REQUIRED',
        title: 'Idempotency-Key is missing',
        status: 400,
        detail: 'This call needs an idempotency key',
        code: 'IDEMPOTENCY_KEY_REQUIRED',
      },
    ]);
  });

  it('with links to the documentation of the application, and the time to come back', async () => {
    const { call, key, first } = await inFlight(start, { problemDetails: { type: 'https://example.com/errors' } });
    const { status, headers, text } = await call('/slow', key);

    expect([status, headers['retry-after'], headers['content-type']]).toEqual([
      409,
      '1',
      expect.stringMatching(/^application\/problem\+json/),
    ]);
    expect(JSON.parse(text)).toMatchObject({ type: 'https://example.com/errors#IDEMPOTENCY_KEY_IN_USE', status: 409 });
    gate.open();
    await first;
  });

  it('in that form also where the route declares another type', async () => {
    const { call, log } = await start({ controllers, options: { problemDetails: true } });
    const { headers } = await call('/csv');

    expect(headers['content-type']).toMatch(/^application\/problem\+json/);
    expect(log.warnings).toEqual([]);
  });
});

onBothAdapters('An answer leaves', (start) => {
  const complete = (store: Partial<IdempotencyStore>) => [
    sourceOf(() => ({ acquire: () => Promise.resolve({ state: 'acquired' }), ...store })),
  ];

  it.each(['complete', 'release'] as const)('after the store has answered %s()', async (method) => {
    let answered = false;
    const providers = complete({
      [method]: async () => {
        await new Promise((resolve) => setTimeout(resolve, 50));
        answered = true;
        return true;
      },
    });
    const { call } = await start({ controllers, providers, options: { storeIf: () => method === 'complete' } });
    await call('/orders', newKey());

    expect(answered).toBe(true);
  });

  it('although the store lets nothing be kept, and the key is not given to others meanwhile', async () => {
    let tries = 0;
    const providers = complete({
      complete: () => {
        tries += 1;
        return tries < 3 ? Promise.reject(new Error('blip')) : Promise.resolve(true);
      },
    });
    const { call, events, log } = await start({ controllers, providers });
    const { status } = await call('/orders', newKey());

    expect(status).toBe(201);
    await expect.poll(() => events.some(({ type }) => type === 'stored')).toBe(true);
    expect(log.errors).toHaveLength(1);
  });
});
