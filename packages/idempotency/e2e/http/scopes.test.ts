import { Controller, Injectable, Post, UseGuards, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Idempotent, type IdempotencyModuleOptions } from '@nestjs/idempotency';
import { beforeEach, expect, it } from 'vitest';
import type { CallOptions } from '../fixtures/client.js';
import { newKey, onBothAdapters } from '../fixtures/http-application.js';

interface User {
  readonly id: unknown;
}

let runs: number;
let guarded: number;
beforeEach(() => {
  runs = guarded = 0;
});

/** Signs in whom the header names; nobody without one. */
@Injectable()
class SignIn implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    guarded += 1;
    const request = context.getArgByIndex<{ headers: Record<string, string | undefined>; user?: User }>(0);
    const { user } = request.headers;
    if (user !== undefined) request.user = { id: JSON.parse(user) as unknown };

    return request.headers['forbidden'] === undefined;
  }
}

@Controller()
@UseGuards(SignIn)
class AccountsController {
  @Post('account')
  @Idempotent()
  account(): object {
    return { run: (runs += 1) };
  }

  @Post('shared')
  @Idempotent({ scope: false })
  shared(): object {
    return { run: (runs += 1) };
  }
}

const controllers = [AccountsController];
const as = (user: unknown): CallOptions => ({ headers: { user: JSON.stringify(user) } });
const byUser: IdempotencyModuleOptions = { scope: (request: { user?: User }) => request.user?.id };
const IS_UNSCOPED = 'has no scope although users sign in';
const HAS_NO_USER = 'was called without a user and without a scope';

onBothAdapters('The scope of a key', (start) => {
  it('keeps users apart', async () => {
    const { call } = await start({ controllers, options: byUser });
    const key = newKey();
    const [a, b] = [await call('/account', key, as('a')), await call('/account', key, as('b'))];

    expect([a.body, b.body]).toEqual([{ run: 1 }, { run: 2 }]);
    expect(await call('/account', key, as('a'))).toMatchObject({ replayed: true, body: { run: 1 } });
  });

  it.each<[string, IdempotencyModuleOptions]>([
    ['a promise', { scope: async (request: { user?: User }) => request.user?.id }],
    ['one for this kind of call', { scope: { http: (request: { user?: User }) => request.user?.id, rpc: false } }],
    ['a bigint', { scope: ({ user }: { user?: User }) => BigInt(user?.id === 'a' ? 1 : 2) }],
    ['a number', { scope: ({ user }: { user?: User }) => (user?.id === 'a' ? 1 : 2) }],
  ])('may be %s', async (_case, options) => {
    const { call } = await start({ controllers, options });
    const key = newKey();
    await call('/account', key, as('a'));

    expect((await call('/account', key, as('b'))).replayed).toBe(false);
    expect((await call('/account', key, as('a'))).replayed).toBe(true);
  });

  it.each([{ a: 1 }, true, NaN, Symbol('a'), ['a']])(
    'may not be %s: an error that names the handler',
    async (scope) => {
      const { call, log } = await start({ controllers, options: { scope: () => scope } });
      const { status } = await call('/account', newKey(), as('a'));

      expect([status, runs]).toEqual([500, 0]);
      expect(log.errors.join()).toContain('AccountsController.account');
    },
  );

  it.each([undefined, null, ''])('that is %j for a user who is signed in is refused, and logged', async (scope) => {
    const { call, log, events } = await start({ controllers, options: { scope: () => scope } });
    const { status, body } = await call('/account', newKey(), as('a'));

    expect([status, body, runs]).toEqual([
      500,
      {
        statusCode: 500,
        error: 'Internal Server Error',
        code: 'IDEMPOTENCY_SCOPE_MISSING',
        message: 'The caller cannot be told from others',
      },
      0,
    ]);
    expect(log.errors).toEqual([
      expect.stringContaining('The idempotency scope of AccountsController.account is empty'),
    ]);
    expect(events).toEqual([expect.objectContaining({ type: 'rejected', code: 'IDEMPOTENCY_SCOPE_MISSING' })]);
  });

  it('that is missing for a call without a user is one that all such share, with one warning', async () => {
    const { twice, log } = await start({ controllers, options: byUser });
    const [, again] = await twice('/account');

    expect(again.replayed).toBe(true);
    expect(log.warnings).toEqual([expect.stringContaining(HAS_NO_USER)]);
  });

  it('that nobody has set is warned of once, and only when users sign in', async () => {
    const { call, log } = await start({ controllers });
    await call('/account', newKey());
    expect(log.warnings).toEqual([]);
    await call('/account', newKey(), as('a'));
    await call('/account', newKey(), as('b'));

    expect(log.warnings).toEqual([expect.stringContaining(IS_UNSCOPED)]);
  });

  it.each<[string, string, IdempotencyModuleOptions]>([
    ['of the handler', '/shared', byUser],
    ['of the handler, where there would be a fault', '/shared', { scope: () => undefined }],
    ['for this kind of call', '/account', { scope: { http: false } }],
    ['of the module', '/account', { scope: false }],
  ])('that is false %s is shared on purpose, without a warning', async (_case, path, options) => {
    const { call, log } = await start({ controllers, options });
    const key = newKey();
    await call(path, key, as('a'));

    expect((await call(path, key, as('b'))).replayed).toBe(true);
    expect([log.warnings, log.errors]).toEqual([[], []]);
  });
});

onBothAdapters('Guards', (start) => {
  it('run for replays too, and may refuse them', async () => {
    const { call } = await start({ controllers, options: byUser });
    const key = newKey();
    await call('/account', key, as('a'));
    const refused = await call('/account', key, { headers: { ...as('a').headers, forbidden: '1' } });
    const again = await call('/account', key, as('a'));

    expect([refused.status, refused.replayed, again.replayed, guarded, runs]).toEqual([403, false, true, 3, 1]);
  });
});
