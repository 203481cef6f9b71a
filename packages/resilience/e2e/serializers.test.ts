import { CacheInterceptor, CacheModule } from '@nestjs/cache-manager';
import {
  ClassSerializerInterceptor,
  Controller,
  Get,
  Injectable,
  Module,
  SerializeOptions,
  StandardSchemaSerializerInterceptor,
  UseInterceptors,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { APP_INTERCEPTOR, Reflector } from '@nestjs/core';
import { fanOut, optional, PartialResponse, required, Timeout } from '@nestjs/resilience';
import { Exclude, Expose, Type as Typed } from 'class-transformer';
import { map, tap, type Observable } from 'rxjs';
import { beforeEach, expect, it } from 'vitest';
import { onBothAdapters, type ApplicationOptions } from './fixtures/application.js';

/** Whether the reviews are there. */
let areThere: boolean;

beforeEach(() => {
  areThere = false;
});

class Product {
  readonly id = '7';
  @Exclude()
  readonly costPrice = 4;

  @Expose()
  get url(): string {
    return `/products/${this.id}`;
  }
}

class Review {
  readonly stars = 4;
  @Exclude()
  readonly author = 'Ada';
}

const reviews = () => (areThere ? Promise.resolve(new Review()) : Promise.reject(new Error('secret-host:5432')));

const page = () =>
  fanOut({
    product: required(() => new Product(), { name: 'catalog', timeout: '800ms' }),
    reviews: optional(reviews, { timeout: '300ms', fallback: null }),
  });

const mapped = async () =>
  (await page()).map(({ data: { product }, degraded }) => ({
    product,
    missing: degraded.map(({ section }) => section),
  }));

/** For a strategy that sends nothing but what is exposed. */
class PageView {
  @Expose()
  @Typed(() => Product)
  readonly product!: Product;
  @Expose()
  readonly missing!: readonly string[];
}

class Pages {
  @Get('plain')
  plain() {
    return page();
  }

  @Get('limited')
  @Timeout('2s')
  limited() {
    return page();
  }

  @Get('mapped')
  mapped() {
    return mapped();
  }

  @Get('list')
  async list() {
    return (await page()).map(({ data }) => [data.product]);
  }

  @Get('typed')
  @SerializeOptions({ type: PageView, strategy: 'excludeAll' })
  typed() {
    return mapped();
  }
}

@Controller('pages')
class PlainPages extends Pages {}

@Controller('pages')
@UseInterceptors(ClassSerializerInterceptor)
class SerializedPages extends Pages {}

@Controller('pages')
@UseInterceptors(new ClassSerializerInterceptor(new Reflector()))
class PagesWithObject extends Pages {}

@Controller('pages')
class PagesOfSerializedMethods {
  @Get(['plain', 'limited'])
  @UseInterceptors(ClassSerializerInterceptor)
  plain() {
    return page();
  }

  @Get('mapped')
  @UseInterceptors(ClassSerializerInterceptor)
  mapped() {
    return mapped();
  }

  @Get('list')
  @UseInterceptors(ClassSerializerInterceptor)
  async list() {
    return (await page()).map(({ data }) => [data.product]);
  }

  @Get('typed')
  @UseInterceptors(ClassSerializerInterceptor)
  @SerializeOptions({ type: PageView, strategy: 'excludeAll' })
  typed() {
    return mapped();
  }
}

@Module({ providers: [{ provide: APP_INTERCEPTOR, useClass: ClassSerializerInterceptor }] })
class SerializingModule {}

/** Where Nest lets an interceptor stand, seen from ours. */
const PLACES: Readonly<Record<string, ApplicationOptions>> = {
  'of the application': {
    controllers: [PlainPages],
    configure: (app) => void app.useGlobalInterceptors(new ClassSerializerInterceptor(app.get(Reflector))),
  },
  'of a module before ours': { controllers: [PlainPages], before: [SerializingModule] },
  'of a module after ours': { controllers: [PlainPages], imports: [SerializingModule] },
  'at a controller': { controllers: [SerializedPages] },
  'at a controller, as an object': { controllers: [PagesWithObject] },
  'at a method': { controllers: [PagesOfSerializedMethods] },
};

const product = { id: '7', url: '/products/7' };
const missingReviews = { section: 'reviews', reason: 'upstream_error', waitedMs: expect.any(Number) };
const whole = { data: { product, reviews: { stars: 4 } }, degraded: [], partial: false };
const BODIES = {
  plain: { data: { product, reviews: null }, degraded: [missingReviews], partial: true },
  limited: { data: { product, reviews: null }, degraded: [missingReviews], partial: true },
  mapped: { product, missing: ['reviews'] },
  list: [product],
  typed: { product: { url: '/products/7' }, missing: ['reviews'] },
};
const marks = { 'x-degraded': expect.stringMatching(/^reviews=upstream_error;\d+$/), 'cache-control': 'no-store' };

@Injectable()
class Envelope implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((data: unknown) => ({ ok: true, data, at: new Date(0) })));
  }
}

let seen: unknown[];

@Injectable()
class Watching implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(tap((value: unknown) => void seen.push(value)));
  }
}

@Controller('envelopes')
class EnvelopesController {
  @Get('inside')
  @UseInterceptors(ClassSerializerInterceptor, Envelope)
  inside() {
    return mapped();
  }

  @Get('around')
  @UseInterceptors(Envelope, ClassSerializerInterceptor)
  around() {
    return mapped();
  }

  @Get('hidden')
  @UseInterceptors(ClassSerializerInterceptor, Envelope)
  @SerializeOptions({ strategy: 'excludeAll' })
  hidden() {
    return mapped();
  }
}

/** Takes what has a product, and gives its id. */
const onlyId = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value: unknown) => {
      const { product: found } = value as { readonly product?: { readonly id: string } };
      return found === undefined ? { issues: [{ message: 'no product' }] } : { value: { id: found.id } };
    },
  },
} as const;

@Controller('others')
class OthersController {
  @Get('schema')
  @UseInterceptors(StandardSchemaSerializerInterceptor)
  @SerializeOptions({ schema: onlyId })
  schema() {
    return mapped();
  }

  @Get('schema-of-list')
  @UseInterceptors(StandardSchemaSerializerInterceptor)
  @SerializeOptions({ schema: onlyId })
  async schemaOfList() {
    return [await mapped(), { product: new Product() }];
  }

  @Get('mismatch')
  @UseInterceptors(StandardSchemaSerializerInterceptor)
  @SerializeOptions({ schema: onlyId })
  mismatch() {
    return page();
  }

  @Get('pages')
  @UseInterceptors(ClassSerializerInterceptor)
  async pages() {
    return [await mapped(), null, new Product()];
  }

  @Get('deep')
  @UseInterceptors(ClassSerializerInterceptor)
  async deep() {
    const left = await mapped();
    return { page: { left, asJson: left.toJSON() } };
  }

  @Get('watched')
  @UseInterceptors(Watching, ClassSerializerInterceptor)
  watched() {
    return page();
  }

  @Get('cached')
  @UseInterceptors(CacheInterceptor, ClassSerializerInterceptor)
  cached() {
    return page();
  }

  @Get('product')
  @UseInterceptors(ClassSerializerInterceptor)
  product() {
    return new Product();
  }
}

onBothAdapters('The serializer of Nest', (start, adapter) => {
  const startOthers = () =>
    start({ controllers: [OthersController, EnvelopesController], imports: [CacheModule.register() as never] });

  it.each(Object.keys(PLACES))('serializes the body of a partial response, which stays marked (%s)', async (place) => {
    const { call } = await start(PLACES[place] as ApplicationOptions);

    for (const [route, expected] of Object.entries(BODIES)) {
      const { status, body, headers, text } = await call(`/pages/${route}`);
      expect([route, status, body]).toEqual([route, 200, expected]);
      expect(headers).toMatchObject(marks);
      expect(headers).not.toHaveProperty('etag');
      expect(text).not.toMatch(/costPrice|secret-host|timings/);
    }
  });

  it.each(Object.keys(PLACES))(
    'serializes that of one that is whole, which has the route’s headers (%s)',
    async (place) => {
      areThere = true;
      const { call } = await start(PLACES[place] as ApplicationOptions);
      const { body, headers } = await call('/pages/plain');

      expect(body).toEqual(whole);
      expect(headers).not.toHaveProperty('x-degraded');
      expect(headers).not.toHaveProperty('cache-control');
      if (adapter === 'express') expect(headers.etag).toMatch(/^W\//);
    },
  );

  it.each(['inside', 'around'])('may have an envelope on either side of it (%s)', async (side) => {
    const { call } = await startOthers();
    const { body, headers } = await call(`/envelopes/${side}`);

    expect(body).toEqual({ ok: true, data: BODIES.mapped, at: '1970-01-01T00:00:00.000Z' });
    expect(headers).toMatchObject(marks);
  });

  it('leaves out of an envelope what its strategy does not let through, and marks what is left', async () => {
    const { call } = await startOthers();
    const { body, headers } = await call('/envelopes/hidden');

    expect(body).toEqual({});
    expect(headers).toMatchObject(marks);
  });

  it('may go by a schema, which is that of the body', async () => {
    const { call } = await startOthers();
    const { body, headers } = await call('/others/schema');

    expect(body).toEqual({ id: '7' });
    expect(headers).toMatchObject(marks);
    expect((await call('/others/schema-of-list')).body).toEqual([{ id: '7' }, { id: '7' }]);
  });

  it('refuses a body that is not what its schema says', async () => {
    const { call, log } = await startOthers();
    const { status, text } = await call('/others/mismatch');

    expect(status).toBe(500);
    expect(text).not.toContain('product');
    expect(log.errors.join()).toContain('Serialization failed: no product');
  });

  it('sends bodies in a list as they were made, though nothing marks them there', async () => {
    const { call } = await startOthers();
    const { body, headers } = await call('/others/pages');

    expect(body).toEqual([BODIES.mapped, null, product]);
    expect(headers).not.toHaveProperty('x-degraded');
  });

  it('finds nothing deeper in an answer that map() had left out', async () => {
    const { call } = await startOthers();
    const { body, headers } = await call('/others/deep');

    expect(body).toEqual({ page: { left: { degraded: [missingReviews] }, asJson: BODIES.mapped } });
    expect(headers).not.toHaveProperty('x-degraded');
  });

  it('lets the interceptors around it see a partial response', async () => {
    seen = [];
    const { call } = await startOthers();
    await call('/others/watched');

    expect(seen).toEqual([expect.any(PartialResponse)]);
    expect(JSON.parse(JSON.stringify(seen))).toEqual([BODIES.plain]);
  });

  it('lets a cache around it keep whole answers, and none in which something is missing', async () => {
    const { call } = await startOthers();
    expect((await call('/others/cached')).body).toEqual(BODIES.plain);
    areThere = true;
    expect((await call('/others/cached')).body).toEqual(whole);
    areThere = false;

    expect((await call('/others/cached')).body).toEqual(whole);
  });

  it('does with other answers what it always does', async () => {
    const { call } = await startOthers();

    expect((await call('/others/product')).body).toEqual(product);
  });

  it('is changed once, however many applications start', async () => {
    await startOthers();
    const { transformToPlain } = ClassSerializerInterceptor.prototype;
    await startOthers();

    expect(ClassSerializerInterceptor.prototype.transformToPlain).toBe(transformToPlain);
  });
});
