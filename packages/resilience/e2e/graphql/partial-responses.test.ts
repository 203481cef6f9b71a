import {
  ClassSerializerInterceptor,
  Injectable,
  Module,
  UseInterceptors,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { Field, ID, ObjectType, Query, Resolver } from '@nestjs/graphql';
import { fanOut, optional, required, ResilienceModule, Timeout } from '@nestjs/resilience';
import { map, type Observable } from 'rxjs';
import { beforeEach, expect, it } from 'vitest';
import { missingSection, OptionalSections, Reviews } from '../fixtures/graphql-pages.js';
import { onEachServer, type GraphqlBody } from '../fixtures/graphql.js';

let down: boolean;

beforeEach(() => {
  down = true;
});

const part =
  <T>(value: T) =>
  (): T => {
    if (down) throw new Error('a secret of the dependency');
    return value;
  };

const pageOf = (id: string) =>
  fanOut({
    product: required(() => ({ id }), { name: 'catalog', timeout: '1s' }),
    reviews: optional(part({ average: 4.5 }), { name: 'review-service', timeout: '1s', fallback: null }),
    similar: optional(part(['8']), { timeout: '1s', fallback: [] as string[] }),
  });

@ObjectType()
class Product {
  @Field(() => ID)
  id!: string;
}

@ObjectType()
class Page extends OptionalSections {
  @Field(() => Product)
  product!: Product;
}

@ObjectType()
class Envelope {
  @Field(() => Page)
  page!: Page;
}

@ObjectType()
class Edge {
  @Field(() => Page)
  node!: Page;
}

@ObjectType()
class Connection {
  @Field(() => [Edge])
  edges!: Edge[];

  @Field(() => [[Page]])
  rows!: Page[][];

  @Field(() => String)
  title!: string;
}

@ObjectType()
class Site {
  @Field(() => Page)
  home!: Page;
}

@ObjectType()
class Shape {
  @Field(() => String)
  title!: string;

  @Field(() => Reviews, { nullable: true })
  reviews!: Reviews | null;

  @Field(() => [String])
  missing!: string[];
}

@ObjectType()
class Whole {
  @Field(() => Page)
  data!: Page;

  @Field(() => Boolean)
  partial!: boolean;
}

@Injectable()
class Wrap implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((page: unknown) => ({ page })));
  }
}

@Injectable()
@Resolver()
class PagesResolver {
  @Query(() => Page)
  page() {
    return pageOf('7');
  }

  @Query(() => Page)
  @Timeout('5s')
  limited() {
    return pageOf('7');
  }

  @Query(() => [Page])
  pages() {
    return Promise.all([pageOf('7'), pageOf('8')]);
  }

  @Query(() => Envelope)
  @UseInterceptors(Wrap)
  wrapped() {
    return pageOf('7');
  }

  @Query(() => Page)
  @UseInterceptors(ClassSerializerInterceptor)
  serialized() {
    return pageOf('7');
  }

  @Query(() => Shape)
  async reshaped() {
    return (await pageOf('7')).map(({ data, degraded }) => ({
      title: `Product ${data.product.id}`,
      reviews: data.reviews,
      missing: degraded.map(({ section }) => section),
    }));
  }

  @Query(() => Connection)
  async connection() {
    const [first, second] = [await pageOf('7'), await pageOf('8')];

    return { edges: [{ node: first }, { node: second }], rows: [[first], [second]], title: 'pages', page: first };
  }

  @Query(() => Site)
  site() {
    return fanOut({ home: required(() => pageOf('7'), { timeout: '1s' }) });
  }

  @Query(() => Whole)
  whole() {
    return pageOf('7');
  }
}

@Module({ providers: [PagesResolver] })
class PagesModule {}

const REVIEWS = missingSection('review-service', 'upstream_error');
const SIMILAR = missingSection('similar', 'upstream_error');
/** Without where in the query that was: the tests of failures look at it. */
const errorsOf = ({ errors = [] }: GraphqlBody) =>
  errors.map(({ locations, ...error }) => (Array.isArray(locations) ? error : { locations, ...error }));

onEachServer('A partial response over GraphQL', (start, server) => {
  const startPages = (graphql = {}) => start({ providers: [PagesResolver], graphql });

  it('is its data, as a whole', async () => {
    down = false;
    const app = await startPages();
    const answer = await app.query('{ page { product { id } reviews { average } similar } }');

    expect(answer.body).toEqual({
      data: { page: { product: { id: '7' }, reviews: { average: 4.5 }, similar: ['8'] } },
    });
    expect(answer.headers['x-degraded']).toBeUndefined();
  });

  it.each([
    ['as it is', true, [PagesModule]],
    ['beside a resilience module that is not global, and is one of them', false, [PagesModule, ResilienceModule]],
  ])('is told of where GraphQLModule looks at some modules only: %s', async (_how, isGlobal, include) => {
    const app = await start({
      imports: [PagesModule],
      graphql: { include },
      resilience: ResilienceModule.forRoot({ isGlobal }),
    });
    const { body, headers } = await app.query('{ page { similar } }');

    expect(errorsOf(body)).toEqual([{ ...SIMILAR, path: ['page', 'similar'] }]);
    expect(headers['x-degraded']).toContain('similar=upstream_error');
    expect(app.log.warnings.filter((line) => line.includes('GraphQLModule'))).toEqual([]);
  });

  it('lacks what a plugin says where GraphQLModule does not find that, and boot has said so', async () => {
    const app = await start({
      imports: [PagesModule],
      graphql: { include: [PagesModule] },
      resilience: ResilienceModule.forRoot({ isGlobal: false }),
    });
    const { body } = await app.query('{ page { similar } }');

    const isApollo = server.startsWith('Apollo');
    expect(errorsOf(body)).toHaveLength(isApollo ? 0 : 1);
    expect(app.log.warnings.filter((line) => line.includes('GraphQLModule'))).toEqual(
      isApollo
        ? [
            'GraphQLModule looks for plugins in PagesModule only, and does not find that of ResilienceModule: of a ' +
              'partial response, errors beside values and, on Fastify, headers do not reach the client. Add ' +
              'ResilienceModule to its include, or leave out isGlobal: false.',
          ]
        : [],
    );
  });

  it.each(['page', 'limited'])(
    'has null for a section that is missing, and one error with its path and code: %s',
    async (field) => {
      const app = await startPages();
      const answer = await app.query(`{ ${field} { product { id } reviews { average } } }`);

      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({
        data: { [field]: { product: { id: '7' }, reviews: null } },
        errors: [{ ...REVIEWS, path: [field, 'reviews'], locations: [{ line: 1, column: field.length + 21 }] }],
      });
      expect(answer.text).not.toContain('secret');
    },
  );

  it('keeps a fallback that is a value, and says all the same that it is one', async () => {
    const app = await startPages();
    const { body } = await app.query('{ page { similar } }');

    expect(body).toEqual({
      data: { page: { similar: [] } },
      errors: [{ ...SIMILAR, path: ['page', 'similar'], locations: [{ line: 1, column: 10 }] }],
    });
  });

  it('says nothing of a section that nobody has asked for', async () => {
    const app = await startPages();
    const { body } = await app.query(
      'query ($no: Boolean = false, $yes: Boolean = true) { page { product { id } similar @include(if: $no) ' +
        'more: similar @skip(if: $yes) ... @include(if: false) { similar } } }',
    );

    expect(body).toEqual({ data: { page: { product: { id: '7' } } } });
  });

  it('is found under whatever name, and in whatever fragment, it was asked for', async () => {
    const app = await startPages();
    const { body } = await app.query(
      'fragment Rest on Page { stars: reviews { average } like: similar } { a: page { ...Rest } b: page { ... on Page { like: similar } like: similar } }',
    );

    expect(body.data).toEqual({ a: { stars: null, like: [] }, b: { like: [] } });
    expect(errorsOf(body)).toHaveLength(3);
    expect(errorsOf(body)).toEqual(
      expect.arrayContaining([
        { ...REVIEWS, path: ['a', 'stars'] },
        { ...SIMILAR, path: ['a', 'like'] },
        { ...SIMILAR, path: ['b', 'like'] },
      ]),
    );
  });

  it('may be one of a list', async () => {
    const app = await startPages();
    const { body } = await app.query('{ pages { reviews { average } similar } }');

    expect(body.data).toEqual({
      pages: [
        { reviews: null, similar: [] },
        { reviews: null, similar: [] },
      ],
    });
    // Mercurius writes the places in a list as texts.
    const paths = errorsOf(body).map(({ path }) => path?.join('.'));
    expect(paths.sort()).toEqual(['pages.0.reviews', 'pages.0.similar', 'pages.1.reviews', 'pages.1.similar']);
  });

  it('may stand in an envelope', async () => {
    const app = await startPages();
    const { body } = await app.query('{ wrapped { page { reviews { average } similar } } }');

    expect(body.data).toEqual({ wrapped: { page: { reviews: null, similar: [] } } });
    expect(errorsOf(body).map(({ path }) => path)).toEqual([
      ['wrapped', 'page', 'reviews'],
      ['wrapped', 'page', 'similar'],
    ]);
  });

  it.each([
    ['a connection', 'connection { edges { node { PAGE } } }', 'connection.edges.N.node'],
    ['lists in a list', 'connection { rows { PAGE } }', 'connection.rows.N.0'],
  ])('may stand in %s', async (_case, query, place) => {
    const app = await startPages();
    const { body } = await app.query(`{ ${query.replace('PAGE', 'product { id } reviews { average } similar')} }`);

    const pages = ['7', '8'].map((id) => ({ product: { id }, reviews: null, similar: [] }));
    const { edges, rows } = (body.data as { connection: { edges?: unknown; rows?: unknown } }).connection;
    expect(edges ?? rows).toEqual(edges === undefined ? pages.map((page) => [page]) : pages.map((node) => ({ node })));
    expect(
      errorsOf(body)
        .map(({ path }) => path?.join('.'))
        .sort(),
    ).toEqual(
      ['0', '1'].flatMap((at) => ['reviews', 'similar'].map((section) => `${place.replace('N', at)}.${section}`)),
    );
  });

  it('may be a section of another one', async () => {
    const app = await startPages();
    const answer = await app.query('{ site { home { product { id } reviews { average } similar } } }');

    expect(answer.body.data).toEqual({ site: { home: { product: { id: '7' }, reviews: null, similar: [] } } });
    expect(errorsOf(answer.body).map(({ path }) => path)).toEqual([
      ['site', 'home', 'reviews'],
      ['site', 'home', 'similar'],
    ]);
    expect(answer.headers['cache-control']).toBe('no-store');
  });

  it('marks the answer also where another field has been made of it', async () => {
    const app = await startPages();
    const answer = await app.query('{ connection { title } }');

    expect(answer.body).toEqual({ data: { connection: { title: 'pages' } } });
    expect(answer.headers['x-degraded']).toMatch(/^review-service=/);
  });

  it('goes through Nest’s serializers', async () => {
    const app = await startPages();
    const { body } = await app.query('{ serialized { product { id } reviews { average } similar } }');

    expect(body.data).toEqual({ serialized: { product: { id: '7' }, reviews: null, similar: [] } });
    expect(errorsOf(body).map(({ path }) => path)).toEqual([
      ['serialized', 'reviews'],
      ['serialized', 'similar'],
    ]);
  });

  it('that was reshaped is what it was made into, with an error where a section has kept its key', async () => {
    const app = await startPages();
    const { body } = await app.query('{ reshaped { title reviews { average } missing } }');

    expect(body.data).toEqual({
      reshaped: { title: 'Product 7', reviews: null, missing: ['review-service', 'similar'] },
    });
    expect(errorsOf(body)).toEqual([{ ...REVIEWS, path: ['reshaped', 'reviews'] }]);
  });

  it('can be asked for its own fields as well, where the schema has them', async () => {
    const app = await startPages();
    const { body } = await app.query('{ whole { partial data { reviews { average } similar } } }');

    expect(body.data).toEqual({ whole: { partial: true, data: { reviews: null, similar: [] } } });
    expect(errorsOf(body).map(({ path }) => path)).toEqual([
      ['whole', 'data', 'reviews'],
      ['whole', 'data', 'similar'],
    ]);
  });

  it('is not stored, and its headers name what is missing in all of its fields', async () => {
    const app = await startPages();
    const answer = await app.query('{ page { product { id } } pages { product { id } } }');

    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.headers['x-degraded']).toMatch(
      /^(review-service=upstream_error;\d+, similar=upstream_error;\d+(, |$)){3}/,
    );
    expect(answer.headers.etag).toBeUndefined();
  });

  it('in a batch says what is missing in its own answer', async () => {
    const app = await startPages(
      server.startsWith('Apollo') ? { allowBatchedHttpRequests: true } : { allowBatchedQueries: true },
    );
    const answer = await app.call('/graphql', {
      method: 'POST',
      body: [{ query: '{ page { product { id } } }' }, { query: '{ page { similar } }' }],
    });

    const [first, second] = answer.body as GraphqlBody[];
    expect(first).toEqual({ data: { page: { product: { id: '7' } } } });
    expect(errorsOf(second ?? {})).toEqual([{ ...SIMILAR, path: ['page', 'similar'] }]);
    expect(answer.headers['cache-control']).toBe('no-store');
  });
});
