import {
  BadRequestException,
  Body,
  Catch,
  Controller,
  ForbiddenException,
  HttpException,
  NotFoundException,
  Post,
  Res,
  UseFilters,
  ValidationPipe,
  type ArgumentsHost,
} from '@nestjs/common';
import { Idempotent, IdempotencyService } from '@nestjs/idempotency';
import { IsInt } from 'class-validator';
import { beforeEach, expect, it } from 'vitest';
import { newKey, onBothAdapters } from '../fixtures/http-application.js';

interface AnyResponse {
  header(name: string, value: string | string[]): this;
  status(code: number): { send(body: unknown): void };
}

let runs: number;
let thrown: () => unknown;
beforeEach(() => {
  runs = 0;
  thrown = () => new Error('secret');
});

class SoldOut extends HttpException {
  constructor() {
    super({ statusCode: 410, message: 'sold out', run: runs }, 410);
  }
}

@Catch(SoldOut)
class SoldOutFilter {
  catch(error: SoldOut, host: ArgumentsHost): void {
    host.getArgByIndex<AnyResponse>(1).status(error.getStatus()).send({ filtered: 'by the class' });
  }
}

@Catch(HttpException)
class AnyFilter {
  catch(error: HttpException, host: ArgumentsHost): void {
    host.getArgByIndex<AnyResponse>(1).status(error.getStatus()).send({ filtered: error.getResponse() });
  }
}

@Catch(HttpException)
class MessageFilter {
  catch(error: HttpException, host: ArgumentsHost): void {
    const { message } = error.getResponse() as { readonly message: string };
    host.getArgByIndex<AnyResponse>(1).status(error.getStatus()).send({ message });
  }
}

class Charge {
  @IsInt()
  amount!: number;
}

@Controller()
@Idempotent()
class ChargesController {
  @Post('throws')
  throws(): never {
    runs += 1;
    throw thrown();
  }

  @Post('headers')
  headers(@Res({ passthrough: true }) response: AnyResponse): never {
    runs += 1;
    response.header('retry-after', '120').header('www-authenticate', 'Bearer realm="a"').header('location', '/other');
    response.header('x-run', String(runs)).header('etag', '"a"').header('set-cookie', ['a=1']);
    throw thrown();
  }

  @Post('validated')
  validated(@Body(new ValidationPipe()) charge: Charge): object {
    runs += 1;
    return charge;
  }

  @Post('by-class')
  @UseFilters(SoldOutFilter)
  byClass(): never {
    runs += 1;
    throw new SoldOut();
  }

  @Post('by-any')
  @UseFilters(AnyFilter)
  byAny(): never {
    runs += 1;
    throw new SoldOut();
  }

  @Post('decided')
  @Idempotent({ storeIf: (status) => status !== 418 })
  decided(): never {
    runs += 1;
    throw thrown();
  }
}

const controllers = [ChargesController];

onBothAdapters('An error over HTTP', (start) => {
  it.each<[string, () => unknown]>([
    ['with an object', () => new HttpException({ code: 'DECLINED', nested: { at: 'x' } }, 402)],
    ['with a text', () => new HttpException('declined', 402)],
    ['of Nest', () => new NotFoundException('no such order')],
    ['of Nest, bare', () => new ForbiddenException()],
    ['with a list of messages', () => new BadRequestException(['a', 'b'])],
    ['with nothing', () => new HttpException('', 422)],
    ['with null', () => new HttpException(null as never, 422)],
    ['with an address of its own', () => new HttpException({ message: 'moved' }, 307)],
  ])('of a client, %s, is thrown again', async (_case, error) => {
    thrown = error;
    const { twice, log } = await start({ controllers });
    const [first, again] = await twice('/throws');

    expect([again.status, again.text, again.replayed]).toEqual([first.status, first.text, true]);
    expect([runs, log.errors, log.warnings]).toEqual([1, [], []]);
  });

  it.each([
    ['a status', 404, { status: 404 }],
    ['a status code', 410, { statusCode: 410 }],
  ])('of a library, with %s, is kept as the one that Nest has for it', async (_case, status, fields) => {
    thrown = () => Object.assign(new Error('secret'), fields);
    const { twice } = await start({ controllers });
    const [, again] = await twice('/throws');

    expect([again.status, again.replayed, runs]).toEqual([status, true, 1]);
    expect(again.text).not.toContain('secret');
  });

  it.each<[string, () => unknown]>([
    ['without a status', () => new Error('secret')],
    ['of a server', () => new HttpException('later', 503)],
    ['with a status in a text', () => Object.assign(new Error('secret'), { status: '403' })],
    ['with half a status', () => Object.assign(new Error('secret'), { status: 403.5 })],
    ['with the status of a server', () => Object.assign(new Error('secret'), { status: 503 })],
    ['that is a text', () => 'secret'],
    ['that is undefined', () => undefined],
    ...[408, 409, 423, 425, 429].map((status): [string, () => unknown] => [
      `that may pass (${status})`,
      () => new HttpException('later', status),
    ]),
  ])('%s frees the key', async (_case, error) => {
    thrown = error;
    const { twice, events } = await start({ controllers });
    const [first, again] = await twice('/throws');

    expect([again.status, again.text, again.replayed]).toEqual([first.status, first.text, false]);
    expect(runs).toBe(2);
    expect(events.filter(({ type }) => type === 'released')).toHaveLength(2);
  });

  it('that has a circle in it frees the key, with a warning', async () => {
    const circle: Record<string, unknown> = { message: 'no' };
    circle['self'] = circle;
    thrown = () => new HttpException(circle, 402);
    // JSON has no circles either: an application that throws such errors has a filter for them.
    const { twice, log } = await start({ controllers, configure: (app) => app.useGlobalFilters(new MessageFilter()) });
    const [first, again] = await twice('/throws');

    expect([first.body, again.body, again.replayed, runs]).toEqual([{ message: 'no' }, { message: 'no' }, false, 2]);
    expect([log.warnings, log.errors]).toEqual([[expect.stringContaining('refers to itself')], []]);
  });

  it('keeps the headers that clients act on, and no other', async () => {
    thrown = () => new HttpException('declined', 402);
    const { twice } = await start({ controllers });
    const [first, again] = await twice('/headers');
    const kept = { 'retry-after': '120', 'www-authenticate': 'Bearer realm="a"', location: '/other' };

    expect(first.headers).toMatchObject({ ...kept, 'x-run': '1' });
    expect(again.headers).toMatchObject(kept);
    for (const name of ['x-run', 'set-cookie']) expect(again.headers).not.toHaveProperty(name);
  });

  it('goes through filters again, by what is left of its class', async () => {
    const { twice } = await start({ controllers });
    const [first, again] = await twice('/by-class');
    expect([first.body, again.body]).toEqual([
      { filtered: 'by the class' },
      { statusCode: 410, message: 'sold out', run: 1 },
    ]);

    const [one, two] = await twice('/by-any');
    expect([two.text, two.replayed]).toEqual([one.text, true]);
  });

  it('goes through global filters again', async () => {
    thrown = () => new HttpException('declined', 402);
    const { twice } = await start({ controllers, configure: (app) => app.useGlobalFilters(new AnyFilter()) });
    const [first, again] = await twice('/throws');

    expect([first.body, again.body, again.replayed]).toEqual([
      { filtered: 'declined' },
      { filtered: 'declined' },
      true,
    ]);
  });

  it('of a pipe uses up the key', async () => {
    const { call } = await start({ controllers });
    const key = newKey();
    const first = await call('/validated', key, { body: { amount: 'x' } });
    const again = await call('/validated', key, { body: { amount: 'x' } });
    const corrected = await call('/validated', key, { body: { amount: 1 } });

    expect([first.status, again.status, again.replayed, again.text]).toEqual([400, 400, true, first.text]);
    expect(corrected.body).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' });
    expect(runs).toBe(0);
  });

  it.each<[string, () => unknown, number, boolean]>([
    ['of a status that it lets be kept', () => new HttpException('later', 429), 429, true],
    ['of a status that it lets go', () => new HttpException('teapot', 418), 418, false],
    ['that nobody knows', () => new Error('secret'), 500, true],
    ['of a library, with the status of a server', () => Object.assign(new Error('secret'), { status: 503 }), 500, true],
  ])('%s is what storeIf decides about', async (_case, error, status, isKept) => {
    thrown = error;
    const { twice } = await start({ controllers });
    const [first, again] = await twice('/decided');

    expect([first.status, again.status, again.replayed]).toEqual([status, status, isKept]);
    expect(again.text).not.toContain('secret');
  });

  it('is what storeIf is told, and of a success only the status', async () => {
    const told: unknown[][] = [];
    const error = new Error('secret');
    thrown = () => error;
    const { call } = await start({
      controllers,
      options: {
        storeIf: (...given) => {
          told.push(given);
          return true;
        },
      },
    });
    await call('/throws', newKey());
    await call('/validated', newKey(), { body: { amount: 1 } });

    expect(told).toEqual([[500, error], [201]]);
    expect(told[0]?.[1]).toBe(error);
  });

  it('of storeIf itself frees the key, and is logged', async () => {
    const { twice, log } = await start({
      controllers,
      options: {
        storeIf: () => {
          throw new Error('storeIf is broken');
        },
      },
    });
    const [first, again] = await twice('/validated', { body: { amount: 1 } });

    expect([first.status, again.status, again.replayed, runs]).toEqual([201, 201, false, 2]);
    expect(log.errors).toEqual([expect.stringContaining('could not be looked at'), expect.any(String)]);
  });

  it.each([
    [23, true],
    [22, false],
  ])('or an answer of 23 bytes of JSON, with maxBodySize %i, is kept: %s', async (maxBodySize, isKept) => {
    const { twice, log, events } = await start({ controllers, options: { maxBodySize } });
    const [first, again] = await twice('/validated', { body: { amount: 123_456_789_012 } });

    expect([first.text.length, again.text, again.replayed]).toEqual([23, first.text, isKept]);
    expect(log.warnings).toEqual(isKept ? [] : [expect.stringContaining('larger than maxBodySize')]);
    expect(events.filter(({ type }) => type === 'released').map((event) => 'reason' in event && event.reason)).toEqual(
      isKept ? [] : ['too-large', 'too-large'],
    );
  });
});

@Controller()
class Refunds {
  constructor(private readonly keys: IdempotencyService) {}

  @Post('refunds')
  @Idempotent()
  async refund(@Body() { amount }: { readonly amount: number }): Promise<number> {
    runs += 1;

    return await this.keys.run('order-7', () => amount, { name: 'refund', payload: amount });
  }
}

onBothAdapters('What the service refuses inside of a handler', (start) => {
  it('is the answer, as in front of the handler, and uses up no key', async () => {
    const { call, events } = await start({ controllers: [Refunds] });
    await call('/refunds', newKey(), { body: { amount: 5 } });
    const key = newKey();
    const first = await call('/refunds', key, { body: { amount: 6 } });
    const again = await call('/refunds', key, { body: { amount: 6 } });

    expect(first).toMatchObject({ status: 422, body: { code: 'IDEMPOTENCY_KEY_REUSED', statusCode: 422 } });
    expect([again.status, again.text, again.replayed, runs]).toEqual([422, first.text, false, 3]);
    expect(events.map(({ type }) => type).slice(-3)).toEqual(['rejected', 'executed', 'released']);
  });
});
