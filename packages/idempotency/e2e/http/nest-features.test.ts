import { CacheInterceptor, CacheModule } from '@nestjs/cache-manager';
import { Controller, Get, Inject, Injectable, Post, Render, Scope, UseInterceptors } from '@nestjs/common';
import {
  ContextIdFactory,
  REQUEST,
  type ContextId,
  type ContextIdStrategy,
  type HostComponentInfo,
} from '@nestjs/core';
import { Idempotent } from '@nestjs/idempotency';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { closeAfterEach, newKey, onBothAdapters, startApplication } from '../fixtures/http-application.js';

interface AnyRequest {
  readonly headers: Readonly<Record<string, string | undefined>>;
}

let runs: number;
beforeEach(() => (runs = 0));

const tenantOf = ({ headers }: AnyRequest): string => headers['x-tenant'] ?? '';

onBothAdapters('A handler whose controller is made', (start) => {
  afterEach(() => ContextIdFactory.apply({ attach: (contextId) => () => contextId }));

  /** One tree of providers for each tenant. */
  class ByTenant implements ContextIdStrategy<AnyRequest> {
    private readonly trees = new Map<string, ContextId>();

    attach(contextId: ContextId, request: AnyRequest) {
      const tenant = tenantOf(request);
      const tree = this.trees.get(tenant) ?? ContextIdFactory.create();
      this.trees.set(tenant, tree);
      const resolve = ({ isTreeDurable }: HostComponentInfo): ContextId => (isTreeDurable ? tree : contextId);

      return { resolve, payload: { headers: request.headers } };
    }
  }

  it.each([
    ['for each request', false, 4],
    ['for each tenant', true, 2],
  ])('%s answers each of two tenants with their own, again too', async (_when, durable, instances) => {
    let made = 0;
    @Injectable({ scope: Scope.REQUEST, durable })
    class Tenant {
      readonly name: string;
      constructor(@Inject(REQUEST) request: AnyRequest) {
        made += 1;
        this.name = tenantOf(request);
      }
    }
    @Controller('orders')
    class Orders {
      constructor(@Inject(Tenant) private readonly tenant: Tenant) {}

      @Post()
      @Idempotent({ scope: tenantOf as never })
      create(): object {
        runs += 1;
        return { runs, tenant: this.tenant.name };
      }
    }
    if (durable) ContextIdFactory.apply(new ByTenant());
    const { call } = await start({ controllers: [Orders], providers: [Tenant] });
    const key = newKey();
    const answers = [];
    for (const tenant of ['a', 'b', 'a', 'b']) {
      const { body, replayed } = await call('/orders', key, { headers: { 'x-tenant': tenant } });
      answers.push([body, replayed]);
    }

    const [a, b] = [
      { runs: 1, tenant: 'a' },
      { runs: 2, tenant: 'b' },
    ];
    expect(answers).toEqual([
      [a, false],
      [b, false],
      [a, true],
      [b, true],
    ]);
    expect(made).toBe(instances);
  });
});

onBothAdapters('A handler behind CacheInterceptor', (start) => {
  it('is replayed with what the cache had given, and runs once for two keys', async () => {
    @Controller('prices')
    class Prices {
      @Get()
      @Idempotent()
      @UseInterceptors(CacheInterceptor)
      read(): object {
        runs += 1;
        return { runs };
      }
    }
    const { call } = await start({ controllers: [Prices], imports: [CacheModule.register()] });
    const [one, other] = [newKey(), newKey()];
    const answers = [];
    for (const key of [one, other, one, other]) answers.push(await call('/prices', key, { method: 'GET' }));

    expect(answers.map(({ body, replayed }) => [body, replayed])).toEqual([
      [{ runs: 1 }, false],
      [{ runs: 1 }, false],
      [{ runs: 1 }, true],
      [{ runs: 1 }, true],
    ]);
  });
});

describe('A view', () => {
  closeAfterEach();

  it('is rendered again from what the handler had returned', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'views-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'order.text'), '');
    @Controller('orders')
    class Orders {
      @Post()
      @Idempotent()
      @Render('order')
      create(): object {
        runs += 1;
        return { runs, at: new Date(0) };
      }
    }
    const configure = (app: NestExpressApplication): void => {
      type Rendered = (error: null, text: string) => void;
      app.engine('text', (_path: string, { runs: count, at }: { runs: number; at: Date }, done: Rendered) =>
        done(null, `${count} at ${at.toISOString()}`),
      );
      app.setViewEngine('text').setBaseViewsDir(folder);
    };
    const { twice } = await startApplication('express', { controllers: [Orders], configure });
    const [first, again] = await twice('/orders');

    expect([first.status, first.text]).toEqual([201, '1 at 1970-01-01T00:00:00.000Z']);
    expect([again.status, again.text, again.replayed]).toEqual([201, first.text, true]);
  });
});
