import { Controller, Get } from '@nestjs/common';
import * as binding from '@nestjs/resilience';
import { ResilienceModule, ResilienceService, type ResilienceModuleOptions } from '@nestjs/resilience';
import { Test } from '@nestjs/testing';
import * as engine from 'holdfast';
import * as fetching from 'holdfast/fetch';
import { describe, expect, it } from 'vitest';
import { read, tablesOf } from './pages.mjs';
import { literalOf, PHRASES } from './phrases.ts';

const tables = tablesOf(read('docs/reference.md'));

function rowsOf(name: string): Record<string, string>[] {
  const table = tables.find((one) => one.name === name);
  if (table === undefined) throw new Error(`The reference has no table "${name}"`);

  return table.rows;
}

const unticked = (cell = ''): string => cell.replaceAll('`', '');
/** What the code spans of a cell say. */
const codes = (cell = ''): string[] => [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? '');
const firstCells = (name: string): string[] => rowsOf(name).map((row) => unticked(Object.values(row)[0]));

const far = 'zzzzzzzzzzzzzzzz';

async function boot(options: object, controllers: (new () => object)[] = []): Promise<void> {
  const imports = [ResilienceModule.forRoot(options as ResilienceModuleOptions)];
  const moduleRef = await Test.createTestingModule({ imports, controllers }).compile();
  const app = moduleRef.createNestApplication({ logger: false });
  await app.init().finally(() => app.close());
}

/** The names that bootstrap lists when it refuses one that is far from all of them. */
async function namesKnownTo(booting: Promise<void>): Promise<string[]> {
  const message = await booting.then(
    () => '',
    (error: Error) => error.message,
  );

  return (/Known options: (.*)\.$/.exec(message)?.[1] ?? message).split(', ').toSorted();
}

describe('the table of module options', () => {
  it('lists every option', async () => {
    expect(firstCells('ResilienceModuleOptions').toSorted()).toEqual(await namesKnownTo(boot({ [far]: 1 })));
  });

  it.each(rowsOf('ResilienceModuleOptions'))('gives the bounds of $Option', async ({ Option, Takes = '' }) => {
    const phrase = PHRASES[Takes];
    expect(phrase, `“${Takes}” is no known phrase`).toBeDefined();
    const option = unticked(Option);

    for (const value of phrase?.takes ?? []) await boot({ [option]: value });
    // What is null counts as left out.
    for (const value of (phrase?.refuses ?? []).filter((bad) => bad !== null)) {
      await expect(boot({ [option]: value }), JSON.stringify(value)).rejects.toThrow(TypeError);
    }
  });

  it('lists every option of the headers of partial responses', async () => {
    expect(firstCells('DegradedOptions').toSorted()).toEqual(await namesKnownTo(boot({ degraded: { [far]: 1 } })));
  });

  it.each(rowsOf('DegradedOptions'))('gives the bounds of $Option', async ({ Option, Takes = '' }) => {
    const option = unticked(Option);

    for (const value of PHRASES[Takes]?.takes ?? []) await boot({ degraded: { [option]: value } });
    for (const value of PHRASES[Takes]?.refuses ?? []) {
      await expect(boot({ degraded: { [option]: value } }), JSON.stringify(value)).rejects.toThrow(TypeError);
    }
    expect(PHRASES[Takes]).toBeDefined();
  });

  it('gives the defaults of the switches', () => {
    const defaults = Object.fromEntries(
      rowsOf('ResilienceModuleOptions').map(({ Option, Default = '' }) => [
        unticked(Option),
        literalOf(Default)?.value,
      ]),
    );

    expect(ResilienceModule.forRoot().global).toBe(defaults.isGlobal);
    // The test of the table of errors runs with the default of mapErrors, that of misspelt names with strictNames.
    expect([defaults.mapErrors, defaults.strictNames]).toEqual([true, false]);
  });

  it('lists the stages of a preset, and those with defaults', async () => {
    expect(firstCells('ResiliencePreset').toSorted()).toEqual(
      await namesKnownTo(boot({ presets: { carrier: { [far]: 1 } } })),
    );

    const sentence = /`defaults` takes (.*?)\. A preset/s.exec(read('docs/reference.md'))?.[1];
    expect(codes(sentence).toSorted()).toEqual(await namesKnownTo(boot({ defaults: { [far]: 1 } })));
  });
});

describe('the table of decorators', () => {
  const isClass = (value: Function): boolean => Object.getOwnPropertyDescriptor(value, 'prototype')?.writable === false;
  const functions = Object.entries(binding).flatMap(([name, value]) =>
    typeof value === 'function' && !isClass(value) && !(name in engine) && /^[A-Z]/.test(name) ? [name] : [],
  );

  it('lists every decorator', () => {
    const names = firstCells('Decorators').map((cell) => /^@(\w+)\(/.exec(cell)?.[1] ?? cell);

    expect(names.toSorted()).toEqual(functions.toSorted());
  });

  it('list every function of its part for fetch', () => {
    const names = firstCells('FetchFunctions').map((cell) => cell.replace(/\(.*/, ''));
    const functions = Object.keys(fetching).filter((name) => /^[a-z]/.test(name));

    expect(names.toSorted()).toEqual(functions.toSorted());
  });

  it('lists the options of @Retry() and @Fallback()', async () => {
    @Controller()
    class Repeating {
      @Get()
      @binding.Retry({ [far]: 1 } as binding.RetryDecoratorOptions)
      find(): void {}
    }
    @Controller()
    class Replaced {
      @Get()
      @binding.Fallback(() => 0, { [far]: 1 } as binding.FallbackDecoratorOptions)
      find(): void {}
    }
    const meaning = (name: string): string => {
      const row = rowsOf('Decorators').find(({ Decorator }) => Decorator?.startsWith(`\`@${name}(`));
      return /Takes (.*?)(?:;|$)/.exec(row?.Meaning ?? '')?.[1] ?? '';
    };

    expect(codes(meaning('Retry')).toSorted()).toEqual(await namesKnownTo(boot({}, [Repeating])));
    const known = await namesKnownTo(boot({}, [Replaced]));
    expect(codes(meaning('Fallback'))).toEqual(known.filter((name) => name !== 'handler'));
  });
});

describe('the table of the service', () => {
  it('lists every method', () => {
    const names = firstCells('ResilienceService').map((cell) => cell.replace(/\(.*/, ''));
    const methods = Object.getOwnPropertyNames(ResilienceService.prototype).filter((name) => name !== 'constructor');

    expect(names.toSorted()).toEqual(methods.toSorted());
  });

  it('lists the fields of a budget', async () => {
    @Controller()
    class Limited {
      @Get()
      @binding.Timeout('1s')
      find(): void {}
    }
    const imports = [ResilienceModule.forRoot()];
    const moduleRef = await Test.createTestingModule({ imports, controllers: [Limited] }).compile();
    await moduleRef.init();
    const row = rowsOf('ResilienceService').find(({ Method }) => Method === '`budgets()`');

    expect(codes(row?.Gives)).toEqual(Object.keys(moduleRef.get(ResilienceService).budgets()[0] ?? {}));
    await moduleRef.close();
  });
});

describe('the tables of functions and members', () => {
  it('list every function of the engine and of the binding', () => {
    const names = firstCells('Functions').map((cell) => cell.replace(/\(.*/, ''));
    const functions = Object.entries({ ...engine, ...binding }).flatMap(([name, value]) =>
      /^[a-z]/.test(name) && typeof value === 'function' ? [name] : [],
    );

    expect(names.toSorted()).toEqual(functions.toSorted());
  });

  it.each(rowsOf('Members'))('are right about $Policy', ({ Policy, Members }) => {
    const policies: Readonly<Record<string, engine.ResiliencePolicy>> = {
      RetryPolicy: new engine.RetryPolicy(),
      TimeoutPolicy: new engine.TimeoutPolicy('1s'),
      BudgetPolicy: new engine.BudgetPolicy('1s'),
      CircuitBreakerPolicy: new engine.CircuitBreakerPolicy(),
      BulkheadPolicy: new engine.BulkheadPolicy({ queueTimeout: 1 }),
      OutboundRateLimitPolicy: new engine.OutboundRateLimitPolicy({ limit: 1, interval: 1 }),
    };
    const policy = policies[unticked(Policy)] as object;

    for (const member of codes(Members)) expect(policy).toHaveProperty(member.replace('()', ''));
  });
});
