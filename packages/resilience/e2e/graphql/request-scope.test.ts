import { Inject, Injectable, Scope } from '@nestjs/common';
import { CONTEXT, Query, Resolver } from '@nestjs/graphql';
import { Bulkhead, Retry } from '@nestjs/resilience';
import { beforeEach, expect, it } from 'vitest';
import { Backend, isPending } from '../fixtures/backend.js';
import { onEachServer, type GraphqlApplication } from '../fixtures/graphql.js';

let backend: Backend;
const down = new Error('down');

beforeEach(() => {
  backend = new Backend();
});

interface Request {
  readonly headers: Readonly<Record<string, string>>;
}

@Injectable({ scope: Scope.REQUEST })
class CurrentUser {
  readonly name: string;

  /** Apollo has the request in its context, Mercurius the reply to it. */
  constructor(@Inject(CONTEXT) { req, reply }: { req?: Request; reply?: { request: Request } }) {
    this.name = (req ?? reply?.request)?.headers['x-user'] ?? 'nobody';
  }
}

@Injectable()
@Resolver()
class ScopedResolver {
  constructor(private readonly user: CurrentUser) {}

  @Query(() => String)
  @Retry({ attempts: 2, backoff: { delay: 0 } })
  async retried() {
    await backend.call();
    return this.user.name;
  }

  @Query(() => String)
  @Bulkhead({ maxConcurrent: 1, maxQueue: 5 })
  async queued() {
    await backend.call();
    return this.user.name;
  }
}

onEachServer('A request-scoped resolver', (start) => {
  const startScoped = () => start({ providers: [CurrentUser, ScopedResolver] });
  const ask = async ({ query }: GraphqlApplication, field: string, user: string): Promise<unknown> =>
    (await query(`{ ${field} }`, { headers: { 'x-user': user } })).body;

  it('keeps the instance of a user in attempts that begin after another user has come', async () => {
    const app = await startScoped();
    const ann = ask(app, 'retried', 'ann');
    const firstOfAnn = await backend.reached(1);
    const bob = ask(app, 'retried', 'bob');
    const firstOfBob = await backend.reached(2);

    firstOfAnn.fail(down);
    (await backend.reached(3)).answer('fine');
    firstOfBob.fail(down);
    (await backend.reached(4)).answer('fine');

    expect(await ann).toEqual({ data: { retried: 'ann' } });
    expect(await bob).toEqual({ data: { retried: 'bob' } });
  });

  it('keeps it through a wait in the queue', async () => {
    const app = await startScoped();
    const ann = ask(app, 'queued', 'ann');
    const first = await backend.reached(1);
    const bob = ask(app, 'queued', 'bob');
    expect(await isPending(bob)).toBe(true);

    first.answer('fine');
    (await backend.reached(2)).answer('fine');

    expect(await ann).toEqual({ data: { queued: 'ann' } });
    expect(await bob).toEqual({ data: { queued: 'bob' } });
  });
});
