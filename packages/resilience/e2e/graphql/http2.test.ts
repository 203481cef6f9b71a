import { constants, type ClientHttp2Session, type ClientHttp2Stream, type OutgoingHttpHeaders } from 'node:http2';
import { Injectable } from '@nestjs/common';
import { Field, Mutation, ObjectType, Query, Resolver } from '@nestjs/graphql';
import {
  Bulkhead,
  ClientDisconnectedError,
  fanOut,
  optional,
  required,
  Retry,
  Signal,
  Timeout,
  type ResilienceModuleOptions,
} from '@nestjs/resilience';
import { beforeEach, expect, it, vi } from 'vitest';
import { freezeTime } from '../fixtures/application.js';
import { Backend, DependencyError, turns, until } from '../fixtures/backend.js';
import { onEachServer, type GraphqlBody } from '../fixtures/graphql.js';
import { answerOf, connectTo, http2AdapterOf } from '../fixtures/http2.js';

let backend: Backend;

beforeEach(() => {
  backend = new Backend();
});

@ObjectType()
class Page {
  @Field(() => String)
  product!: string;

  @Field(() => String, { nullable: true })
  reviews!: string | null;
}

@Injectable()
@Resolver()
class QuotesResolver {
  @Query(() => String, { nullable: true })
  @Timeout('1s')
  @Bulkhead({ name: 'quotes', maxConcurrent: 10 })
  quotes(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @Query(() => String, { nullable: true })
  @Timeout('1s')
  @Retry({ attempts: 2, backoff: { delay: 0 } })
  repeated(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @Query(() => Page, { nullable: true })
  page() {
    return fanOut({
      product: required(() => 'shoe', { timeout: '1s' }),
      reviews: optional(({ signal }) => backend.call(signal), { timeout: '1s', fallback: null }),
    });
  }

  @Mutation(() => String, { nullable: true })
  @Timeout('1s')
  @Retry({ attempts: 2, backoff: { delay: 0 } })
  book(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }
}

/** As applications write it; drivers pass one object or the request itself. */
const onlyRequest = (given: { readonly req?: object }) => ({ req: given.req ?? given });

onEachServer('GraphQL over HTTP/2', (start, server) => {
  const startQuotes = async (options: ResilienceModuleOptions = {}, graphql = {}) => {
    const adapter = http2AdapterOf(server.endsWith('Express') ? 'express' : 'fastify');
    const app = await start({ providers: [QuotesResolver], adapter, options, graphql });
    const connection = connectTo(app.url);
    return { ...app, connection, ask: async (query: string, headers = {}) => bodyOf(post(connection, query, headers)) };
  };
  const post = (
    connection: ClientHttp2Session,
    query: string,
    headers: OutgoingHttpHeaders = {},
  ): ClientHttp2Stream => {
    const body = JSON.stringify({ query });
    const length = String(Buffer.byteLength(body)); // Without it, Express takes the request for one without a body.
    const described = { 'content-type': 'application/json', 'content-length': length };
    const stream = connection.request({ ':method': 'POST', ':path': '/graphql', ...described, ...headers });
    stream.end(body);
    return stream;
  };
  const bodyOf = async (stream: ClientHttp2Stream) => {
    const { status, headers, text } = await answerOf(stream);
    return { status, headers, body: JSON.parse(text) as GraphqlBody };
  };

  it('fails a field at its limit, and the answer is a 200', async () => {
    const { ask } = await startQuotes();
    freezeTime();
    const answer = ask('{ __typename quotes }');
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(1_000);

    expect(await answer).toMatchObject({
      status: 200,
      body: {
        data: { __typename: 'Query', quotes: null },
        errors: [{ path: ['quotes'], extensions: { code: 'TIMEOUT', httpStatus: 504 } }],
      },
    });
  });

  it('repeats a query, and no mutation', async () => {
    backend.script((call, nth) => (nth === 2 ? call.answer('fine') : call.fail(new DependencyError(503))));
    const { ask } = await startQuotes();

    expect((await ask('{ repeated }')).body).toEqual({ data: { repeated: 'fine' } });
    expect((await ask('mutation { book }')).body).toMatchObject({ data: { book: null }, errors: [{ path: ['book'] }] });
    expect(backend.calls).toHaveLength(3);
  });

  it('names what is missing of a partial response, in its headers too', async () => {
    backend.script((call) => call.fail(new DependencyError(503)));
    const { ask } = await startQuotes();
    const { body, headers } = await ask('{ page { product reviews } }');

    expect(body).toMatchObject({
      data: { page: { product: 'shoe', reviews: null } },
      errors: [{ path: ['page', 'reviews'], extensions: { code: 'SECTION_FAILED' } }],
    });
    expect(headers).toMatchObject({ 'x-degraded': expect.stringMatching(/^reviews=/), 'cache-control': 'no-store' });
  });

  it('is bounded by the deadline of its caller', async () => {
    const { ask } = await startQuotes({ deadlineHeaders: ['x-request-timeout-ms'] });
    freezeTime();
    const answer = ask('{ quotes }', { 'x-request-timeout-ms': '100' });
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(100);

    expect((await answer).body.errors?.[0]?.extensions).toEqual({ code: 'DEADLINE_EXCEEDED', httpStatus: 504 });
  });

  it.each([
    ['the request', {}],
    ['the connection', {}],
    ['the request, which is all that resolvers know', { context: onlyRequest }],
    ['the connection, where resolvers know the request only', { context: onlyRequest }],
  ])('ends a query whose client gives up %s', async (what, graphql) => {
    const { connection, events, log, resilience } = await startQuotes({}, graphql);
    const stream = post(connection, '{ a: quotes b: quotes }').on('error', () => {});
    const [first, second] = [await backend.reached(1), await backend.reached(2)];
    if (what.startsWith('the request')) stream.close(constants.NGHTTP2_CANCEL);
    else connection.destroy();

    await until(() => first.state === 'cancelled' && second.state === 'cancelled');
    expect(first.signal?.reason).toBeInstanceOf(ClientDisconnectedError);
    await until(() => resilience.bulkhead('quotes').active === 0);
    await turns();
    expect(events.filter(({ type }) => type === 'client-gone')).toHaveLength(2);
    expect(log.errors).toEqual([]);
  });

  it('ends no other query of the same connection', async () => {
    const { connection, ask } = await startQuotes();
    const kept = ask('{ quotes }');
    const running = await backend.reached(1);
    const leaving = post(connection, '{ quotes }').on('error', () => {});
    const left = await backend.reached(2);
    leaving.close(constants.NGHTTP2_CANCEL);
    await until(() => left.state === 'cancelled');
    await turns();

    expect(running.state).toBe('running');
    running.answer('fine');
    expect((await kept).body).toEqual({ data: { quotes: 'fine' } });
  });

  it('ends no mutation', async () => {
    const { connection, events } = await startQuotes();
    const stream = post(connection, 'mutation { book }').on('error', () => {});
    const running = await backend.reached(1);
    stream.close(constants.NGHTTP2_CANCEL);
    await turns(50);

    expect(running.state).toBe('running');
    running.answer('done');
    await turns();
    expect(events).toEqual([]);
  });
});
