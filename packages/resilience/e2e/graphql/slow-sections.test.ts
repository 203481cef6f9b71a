import { Injectable } from '@nestjs/common';
import { Field, ObjectType, Query, Resolver } from '@nestjs/graphql';
import { Budget, fanOut, optional, required, Timeout, type Duration } from '@nestjs/resilience';
import { beforeEach, expect, it, vi } from 'vitest';
import { freezeTime } from '../fixtures/application.js';
import { Backend } from '../fixtures/backend.js';
import { missingSection, OptionalSections, type Reviews } from '../fixtures/graphql-pages.js';
import { onEachServer } from '../fixtures/graphql.js';

let backend: Backend;

beforeEach(() => {
  backend = new Backend();
});

@ObjectType()
class Page extends OptionalSections {
  @Field(() => String)
  title!: string;
}

/** The reviews are asked of a backend that hangs. */
const pageWithin = (timeout: Duration) =>
  fanOut({
    title: required(() => 'A saw', { timeout: '1s' }),
    reviews: optional(({ signal }) => backend.call(signal) as Promise<Reviews>, { timeout, fallback: null }),
    similar: optional(() => ['8'], { timeout: '1s', fallback: [] as string[] }),
  });

@Injectable()
@Resolver()
class PagesResolver {
  @Query(() => Page)
  page() {
    return pageWithin('300ms');
  }

  @Query(() => Page)
  @Timeout('500ms')
  limited() {
    return pageWithin('1h');
  }

  @Query(() => Page)
  @Budget('500ms')
  budgeted() {
    return pageWithin('1h');
  }

  @Query(() => Page, { nullable: true })
  closed() {
    return fanOut({ title: required(({ signal }) => backend.call(signal), { name: 'catalog', timeout: '300ms' }) });
  }

  @Query(() => String)
  other() {
    return 'fine';
  }
}

const missing = (path: string[]) => ({
  ...missingSection('reviews', 'upstream_timeout'),
  path,
  locations: [expect.any(Object)],
});

onEachServer('A section that does not answer in time, over GraphQL,', (start) => {
  const startPages = async () => {
    const app = await start({ providers: [PagesResolver] });
    freezeTime();

    return app;
  };

  it('is null at its limit, with one error of its path and code, and the rest of the answer is there', async () => {
    const app = await startPages();
    const answering = app.query('{ page { title reviews { average } similar } other }');
    const call = await backend.reached(1);
    await vi.advanceTimersByTimeAsync(300);
    const answer = await answering;

    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      data: { page: { title: 'A saw', reviews: null, similar: ['8'] }, other: 'fine' },
      errors: [missing(['page', 'reviews'])],
    });
    expect(answer.headers['x-degraded']).toBe('reviews=upstream_timeout;300');
    expect(call.state).toBe('cancelled');
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each(['limited', 'budgeted'])(
    'leaves the page in time for the limit of its resolver, in place of a timeout of all of it: %s',
    async (field) => {
      const app = await startPages();
      const answering = app.query(`{ ${field} { title reviews { average } similar } other }`);
      const call = await backend.reached(1);
      await vi.advanceTimersByTimeAsync(499);
      const answer = await answering;

      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({
        data: { [field]: { title: 'A saw', reviews: null, similar: ['8'] }, other: 'fine' },
        errors: [missing([field, 'reviews'])],
      });
      expect(call.state).toBe('cancelled');
      expect(app.events.map(({ type }) => type)).toEqual(['degraded']);
    },
  );

  it('fails its own field alone where it is required', async () => {
    const app = await startPages();
    const answering = app.query('{ closed { title } other }');
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(300);
    const { status, body } = await answering;

    expect(status).toBe(200);
    expect(body.data).toEqual({ closed: null, other: 'fine' });
    expect(body.errors).toMatchObject([
      { message: 'catalog unavailable', path: ['closed'], extensions: { code: 'SECTION_FAILED', httpStatus: 502 } },
    ]);
    expect(body.errors).toHaveLength(1);
  });
});
