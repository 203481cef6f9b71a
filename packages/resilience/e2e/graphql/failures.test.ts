import { Injectable, NotFoundException } from '@nestjs/common';
import { Args, Int, Mutation, Query, Resolver } from '@nestjs/graphql';
import {
  Budget,
  Bulkhead,
  BulkheadFullError,
  CircuitBreaker,
  CircuitOpenError,
  DeadlineExceededError,
  Fallback,
  OutboundRateLimitError,
  Resilience,
  ResilienceTimeoutError,
  Retry,
  SectionFailedError,
  Timeout,
  type ResilienceError,
  type ResilienceModuleOptions,
} from '@nestjs/resilience';
import { beforeEach, expect, it, vi } from 'vitest';
import { freezeTime } from '../fixtures/application.js';
import { Backend } from '../fixtures/backend.js';
import { onEachServer, type GraphqlOptions } from '../fixtures/graphql.js';

let backend: Backend;
const down = new Error('down');

beforeEach(() => {
  backend = new Backend();
});

const THROWN: Readonly<Record<string, () => ResilienceError>> = {
  timeout: () => new ResilienceTimeoutError(100, 'secret'),
  deadline: () => new DeadlineExceededError(100, 'secret'),
  circuit: () => new CircuitOpenError('secret', 29_500),
  bulkhead: () => new BulkheadFullError('secret', 'full'),
  rate: () => new OutboundRateLimitError('secret', 1_001),
  section: () =>
    new SectionFailedError({ section: 'catalog', reason: 'upstream_timeout', cause: down, status: 502 }, 'secret'),
};

@Injectable()
@Resolver()
class QuotesResolver {
  @Query(() => String, { nullable: true })
  @Timeout('1s')
  @CircuitBreaker({ name: 'secret', minimumCalls: 2, openDuration: '30s' })
  limited() {
    return backend.call();
  }

  @Query(() => String, { nullable: true })
  @Budget('1s')
  budgeted() {
    return backend.call();
  }

  @Query(() => String, { nullable: true })
  @Bulkhead({ name: 'secret', maxConcurrent: 1 })
  narrow() {
    return backend.call();
  }

  @Query(() => String, { nullable: true })
  @Resilience('limited')
  rated() {
    return 'fine';
  }

  @Query(() => String, { nullable: true })
  @Fallback(() => 'flat')
  replaced(): string {
    throw down;
  }

  @Query(() => String, { nullable: true })
  undecorated(@Args('error') error: string): string {
    throw THROWN[error]?.() ?? down;
  }

  @Query(() => String, { nullable: true })
  @Retry({ attempts: 2, backoff: { delay: 0 } })
  missing(): string {
    throw new NotFoundException('no such quote');
  }

  @Query(() => Int)
  sibling() {
    return 7;
  }

  @Mutation(() => String, { nullable: true })
  @Timeout('1s')
  book() {
    return backend.call();
  }
}

/** What a client receives in place of a field. */
const errorOf = (path: string, error: { message: string; extensions: object }) => ({
  message: error.message,
  locations: [{ line: 1, column: 3 }],
  path: [path],
  extensions: error.extensions,
});

const TIMEOUT = { message: 'The operation timed out', extensions: { code: 'TIMEOUT', httpStatus: 504 } };
const FULL = { message: 'Server is at capacity', extensions: { code: 'BULKHEAD_FULL', httpStatus: 503 } };
const OPEN = {
  message: 'Service temporarily unavailable',
  extensions: { code: 'CIRCUIT_OPEN', httpStatus: 503, retryAfter: 30 },
};

onEachServer('A failure over GraphQL', (start, server) => {
  const startQuotes = (options: ResilienceModuleOptions = {}, graphql: GraphqlOptions['graphql'] = {}) =>
    start({
      providers: [QuotesResolver],
      graphql,
      options: { presets: { limited: { outboundRateLimit: { limit: 1, interval: '10s', maxWait: 0 } } }, ...options },
    });

  it('fails its own field, and the answer with the others is a 200', async () => {
    const app = await startQuotes();
    freezeTime();
    const answering = app.query('{ limited sibling }');
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(1_000);
    const answer = await answering;

    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ errors: [errorOf('limited', TIMEOUT)], data: { limited: null, sibling: 7 } });
    expect(answer.headers['retry-after']).toBeUndefined();
    expect(app.log.errors).toEqual([]);
  });

  it('of an open breaker says when it is worth to try again', async () => {
    const app = await startQuotes();
    app.resilience.circuitBreaker('secret').trip();

    const answer = await app.query('{ limited sibling }');

    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ errors: [errorOf('limited', OPEN)], data: { limited: null, sibling: 7 } });
    expect(answer.text).not.toContain('secret');
    expect(backend.calls).toEqual([]);
  });

  it('is told as well where the budget is spent', async () => {
    const app = await startQuotes();
    freezeTime();
    const answering = app.query('{ budgeted }');
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(1_000);

    expect((await answering).body).toEqual({
      errors: [
        errorOf('budgeted', {
          message: 'The operation timed out',
          extensions: { code: 'DEADLINE_EXCEEDED', httpStatus: 504 },
        }),
      ],
      data: { budgeted: null },
    });
  });

  it('of a full bulkhead meets the second of two aliases, which are two calls', async () => {
    const app = await startQuotes();
    const answering = app.query('{ a: narrow b: narrow }');
    (await backend.reached(1)).answer('fine');
    const { body } = await answering;

    expect(body.data).toEqual({ a: 'fine', b: null });
    expect(body.errors).toEqual([{ ...FULL, locations: [{ line: 1, column: 13 }], path: ['b'] }]);
  });

  it('of a rate limit says when it is worth to try again', async () => {
    const app = await startQuotes();
    await app.query('{ rated }');

    expect((await app.query('{ rated }')).body).toEqual({
      errors: [
        errorOf('rated', {
          message: 'Rate limit of a dependency exceeded',
          extensions: { code: 'RATE_LIMITED', httpStatus: 503, retryAfter: 10 },
        }),
      ],
      data: { rated: null },
    });
  });

  it('counts each alias for the breaker', async () => {
    backend.script((call) => call.fail(down));
    const app = await startQuotes();

    await app.query('{ a: limited b: limited }');

    expect(app.resilience.circuitBreaker('secret').state).toBe('open');
  });

  it('is the field of a mutation as well', async () => {
    const app = await startQuotes();
    freezeTime();
    const answering = app.query('mutation { book }');
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(1_000);

    expect((await answering).body).toEqual({
      errors: [{ ...TIMEOUT, locations: [{ line: 1, column: 12 }], path: ['book'] }],
      data: { book: null },
    });
  });

  it('does not leave where there is a fallback', async () => {
    const app = await startQuotes();

    expect((await app.query('{ replaced }')).body).toEqual({ data: { replaced: 'flat' } });
  });

  it.each([
    ['timeout', 'The operation timed out', { code: 'TIMEOUT', httpStatus: 504 }],
    ['deadline', 'The operation timed out', { code: 'DEADLINE_EXCEEDED', httpStatus: 504 }],
    ['circuit', 'Service temporarily unavailable', { code: 'CIRCUIT_OPEN', httpStatus: 503, retryAfter: 30 }],
    ['bulkhead', 'Server is at capacity', { code: 'BULKHEAD_FULL', httpStatus: 503 }],
    ['rate', 'Rate limit of a dependency exceeded', { code: 'RATE_LIMITED', httpStatus: 503, retryAfter: 2 }],
    ['section', 'catalog unavailable', { code: 'SECTION_FAILED', httpStatus: 502 }],
  ])('that a service throws is translated without any decorator: %s', async (error, message, extensions) => {
    const app = await startQuotes();
    const answer = await app.query(`{ undecorated(error: "${error}") }`);

    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      errors: [errorOf('undecorated', { message, extensions })],
      data: { undecorated: null },
    });
  });

  it('stays what it is with mapErrors: false', async () => {
    const app = await startQuotes({ mapErrors: false });
    const { body } = await app.query('{ undecorated(error: "circuit") }');

    expect(body.data).toEqual({ undecorated: null });
    expect(body.errors?.[0]).toMatchObject({ message: THROWN['circuit']?.().message });
    expect(body.errors?.[0]?.extensions ?? {}).not.toHaveProperty('httpStatus');
  });

  it('of any other kind is left as it is, and a client error is not repeated', async () => {
    const app = await startQuotes();
    const { body } = await app.query('{ undecorated(error: "other") missing }');

    expect(body.errors).toHaveLength(2);
    expect(body.errors).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ message: 'down', path: ['undecorated'] }),
        expect.objectContaining({ message: 'no such quote', path: ['missing'] }),
      ]),
    );
    expect(app.events).toEqual([]);
  });

  it('of one operation in a batch leaves the others alone', async () => {
    backend.script((call) => call.fail(new ResilienceTimeoutError(100, 'secret')));
    const batched = server.startsWith('Apollo') ? { allowBatchedHttpRequests: true } : { allowBatchedQueries: true };
    const app = await startQuotes({}, batched);
    const answer = await app.call('/graphql', {
      method: 'POST',
      body: [{ query: '{ limited }' }, { query: '{ sibling }' }, { query: '{ limited }' }],
    });

    const failed = { errors: [errorOf('limited', TIMEOUT)], data: { limited: null } };
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual([failed, { data: { sibling: 7 } }, failed]);
    expect(app.resilience.circuitBreaker('secret').state).toBe('open');
  });

  it('shows neither frames nor names where the server is told to show stacks', async () => {
    const app = await startQuotes({}, { includeStacktraceInErrorResponses: true });
    const { text, body } = await app.query('{ undecorated(error: "circuit") }');

    expect(text).not.toContain('secret');
    expect(text).not.toContain('.ts:');
    expect(body.errors?.[0]?.extensions).toEqual(
      server.startsWith('Apollo')
        ? { ...OPEN.extensions, stacktrace: [`GraphQLError: ${OPEN.message}`] }
        : OPEN.extensions,
    );
  });
});
