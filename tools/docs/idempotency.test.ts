import {
  Idempotent,
  IdempotencyEvents,
  IdempotencyModule,
  IdempotencyRejectedError,
  IdempotencyService,
  IdempotencyStorage,
  InMemoryIdempotencyStore,
  type IdempotencyErrorCode,
  type IdempotencyEvent,
  type IdempotencyExecutedEvent,
  type IdempotencyLockLostEvent,
  type IdempotencyRejectedEvent,
  type IdempotencyReleasedEvent,
  type IdempotencyReplayedEvent,
  type IdempotencyRunOptions,
  type IdempotencyStoredEvent,
  type IdempotencyStoreErrorEvent,
} from '@nestjs/idempotency';
import { PostgresIdempotencyStore } from '@nestjs/idempotency/postgres';
import { RedisIdempotencyStore } from '@nestjs/idempotency/redis';
import { Test } from '@nestjs/testing';
import { parseDuration } from 'holdfast/binding';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { SeenEvents, unticked, type PayloadName } from './event-table.ts';
import { read, tablesOf } from './pages.mjs';
import { literalOf, PHRASES } from './phrases.ts';

const tables = tablesOf(read('docs/reference.md'));

function rowsOf(name: string): Record<string, string>[] {
  const table = tables.find((one) => one.name === name);
  if (table === undefined) throw new Error(`The reference has no table "${name}"`);

  return table.rows;
}

const firstCells = (name: string): string[] => rowsOf(name).map((row) => unticked(Object.values(row)[0]));

interface Subject {
  readonly make: (options: object) => unknown;
  /** Where the docstrings of its options are: interfaces, and their files within the package's sources. */
  readonly declared: Readonly<Record<string, string>>;
}

const pool = { query: async () => ({ rows: [] }) };
const client = { eval: async () => null, evalsha: async () => null };

async function boot(options: object): Promise<void> {
  const moduleRef = await Test.createTestingModule({ imports: [IdempotencyModule.forRoot(options)] }).compile();
  await moduleRef.close();
}

const SUBJECTS: Readonly<Record<string, Subject>> = {
  IdempotentOptions: {
    make: (options) => Idempotent(options),
    declared: { IdempotentOptions: 'idempotency.options.ts' },
  },
  IdempotencyModuleOptions: { make: boot, declared: { IdempotencyModuleOptions: 'idempotency.options.ts' } },
  PostgresIdempotencyStoreOptions: {
    make: (options) => new PostgresIdempotencyStore(pool, options),
    declared: {
      PostgresIdempotencyStoreOptions: 'stores/postgres/postgres-store.ts',
      IdempotencyTableOptions: 'stores/postgres/table.ts',
    },
  },
  RedisIdempotencyStoreOptions: {
    make: (options) => new RedisIdempotencyStore(client, options),
    declared: { RedisIdempotencyStoreOptions: 'stores/redis/redis-store.ts' },
  },
  InMemoryIdempotencyStoreOptions: {
    make: (options) => new InMemoryIdempotencyStore(options),
    declared: { InMemoryIdempotencyStoreOptions: 'stores/memory-store.ts' },
  },
};

/** These are options of the module as well, in a table of their own. */
const inherited = (name: string): string[] =>
  name === 'IdempotencyModuleOptions' ? firstCells('IdempotentOptions') : [];

/** Read where Nest looks, before our code sees any options. */
const STRUCTURAL = ['isGlobal'];

async function namesKnownTo({ make }: Subject): Promise<string[]> {
  try {
    await make({ zzzzzzzzzzzzzzzz: 1 });
  } catch (error) {
    return (/Known options: (.*)\.$/.exec((error as Error).message)?.[1] ?? '').split(', ');
  }

  throw new Error('Unknown options are not refused');
}

/** What the docstring of an option says of its default: the first code, number or amount of time after “Default”. */
function documentedDefault({ declared }: Subject, option: string): string | undefined {
  const bodies = Object.entries(declared).map(([name, file]) => {
    const text = read(`packages/idempotency/src/${file}`);
    return new RegExp(`interface ${name} [^{]*\\{\\n(.*?)^\\}`, 'ms').exec(text)?.[1] ?? '';
  });
  const docstring =
    new RegExp(`/\\*\\*((?:(?!\\*/).)*)\\*/\\s+readonly ${option}\\?:`, 's').exec(bodies.join('\n'))?.[1] ?? '';

  return /\b[Dd]efault:?\s+(`[^`]+`|[\d,]+ (?:h|s|ms)\b|[\d,]+)/.exec(docstring.replaceAll(/\s*\n\s*\*\s*/g, ' '))?.[1];
}

/** `24 h` and `'24h'` are the same amount of time, `Infinity` is unlimited. */
function comparable(cell: string): unknown {
  const text = unticked(cell).replaceAll("'", '').toLowerCase();
  if (text === 'unlimited') return 'infinity';

  return /^\d+ ?(?:ms|s|h)$/.test(text) ? parseDuration(text.replace(' ', ''), '') : text;
}

describe.each(Object.entries(SUBJECTS))('the table of %s', (name, subject) => {
  it('lists every option, and no other', async () => {
    const listed = [...firstCells(name), ...inherited(name)].filter((option) => !STRUCTURAL.includes(option));

    expect(listed.toSorted()).toEqual((await namesKnownTo(subject)).toSorted());
  });

  it.each(rowsOf(name))('gives the bounds of $Option', async ({ Option, Takes = '' }) => {
    const phrase = PHRASES[Takes];
    expect(phrase, `“${Takes}” is no known phrase`).toBeDefined();
    const make = async (value: unknown): Promise<unknown> => subject.make({ [unticked(Option)]: value });

    for (const value of phrase?.takes ?? []) await make(value);
    // What is null counts as left out in the module’s own options.
    for (const value of (phrase?.refuses ?? []).filter((bad) => bad !== null)) {
      await expect(make(value), JSON.stringify(value)).rejects.toThrow(TypeError);
    }
  });

  it.each(rowsOf(name))('agrees with the code’s own documentation about the default of $Option', (row) => {
    const documented = documentedDefault(subject, unticked(row.Option));
    const isLiteral = literalOfQuietly(row.Default ?? '') || row.Default === 'unlimited';
    if (documented === undefined) expect(isLiteral && row.Default !== '`[]`', row.Default).toBe(false);
    else expect(comparable(row.Default ?? '')).toEqual(comparable(documented));
  });
});

function literalOfQuietly(cell: string): boolean {
  try {
    return literalOf(cell) !== undefined;
  } catch {
    return true;
  }
}

it('the reference names the options of IdempotencyService.run()', () => {
  const options = {
    name: 1,
    scope: 1,
    payload: 1,
    ttl: 1,
    lockTtl: 1,
    maxLockHold: 1,
    retryAfter: 1,
    storeIf: 1,
    onInFlight: 1,
    maxWait: 1,
    onStoreError: 1,
    maxBodySize: 1,
  } satisfies Record<keyof IdempotencyRunOptions, 1>;
  const sentence = /`run\(key, work, options\)` takes (.*?)\. `work`/s.exec(read('docs/reference.md'))?.[1] ?? '';

  expect([...sentence.matchAll(/`(\w+)`/g)].map((match) => match[1])).toEqual(Object.keys(options));
});

interface Payloads {
  readonly IdempotencyExecutedEvent: IdempotencyExecutedEvent;
  readonly IdempotencyStoredEvent: IdempotencyStoredEvent;
  readonly IdempotencyReleasedEvent: IdempotencyReleasedEvent;
  readonly IdempotencyReplayedEvent: IdempotencyReplayedEvent;
  readonly IdempotencyRejectedEvent: IdempotencyRejectedEvent;
  readonly IdempotencyLockLostEvent: IdempotencyLockLostEvent;
  readonly IdempotencyStoreErrorEvent: IdempotencyStoreErrorEvent;
}

type Type = IdempotencyEvent['type'];

/** The compiler refuses a missing type, and a name that is another type's. */
const PAYLOAD_NAMES: { readonly [T in Type]: PayloadName<Payloads, T> } = {
  executed: 'IdempotencyExecutedEvent',
  stored: 'IdempotencyStoredEvent',
  released: 'IdempotencyReleasedEvent',
  replayed: 'IdempotencyReplayedEvent',
  rejected: 'IdempotencyRejectedEvent',
  'lock-lost': 'IdempotencyLockLostEvent',
  'store-error': 'IdempotencyStoreErrorEvent',
};

const COMMON = ['type', 'context', 'handler', 'key'];

describe('the table of the events of keys', () => {
  const seen = new SeenEvents(PAYLOAD_NAMES, ['nestjs:idempotency']);
  const refusals: IdempotencyRejectedError[] = [];

  beforeAll(async () => {
    const store = new InMemoryIdempotencyStore();
    const moduleRef = await Test.createTestingModule({ imports: [IdempotencyModule.forRoot()] })
      .setLogger({ log() {}, warn() {}, error() {} })
      .compile();
    moduleRef.get(IdempotencyStorage).registerSource(store);
    await moduleRef.init();
    moduleRef.get(IdempotencyEvents).events$.subscribe((event) => seen.emitted.set(event.type, event));
    seen.listen();

    const service = moduleRef.get(IdempotencyService);
    const run = async (key: string, work: () => unknown, payload = 1): Promise<void> => {
      await service.run(key, work, { name: 'test', payload }).catch((error: unknown) => {
        if (error instanceof IdempotencyRejectedError) refusals.push(error);
      });
    };
    await run('a', () => 1);
    await run('a', () => 1);
    await run('a', () => 1, 2);
    await Promise.all([run('b', () => 1), run('b', () => 1)]);
    await run('c', () => Promise.reject(new Error('down')));
    vi.spyOn(store, 'acquire').mockRejectedValueOnce(new Error('down'));
    await run('d', () => 1);
    await run('e', async () => store.clear());
    await run('f', async () => {
      store.clear();
      await run('f', () => 2);
    });
    await moduleRef.close();
  });

  seen.testTypes(rowsOf('IdempotencyEvents'));
  seen.testFields(rowsOf('IdempotencyEvents'), COMMON);

  it('has beside it the codes of all refusals, with their statuses and whether they say when to come back', () => {
    const codes = {
      IDEMPOTENCY_KEY_REQUIRED: 1,
      IDEMPOTENCY_KEY_INVALID: 1,
      IDEMPOTENCY_KEY_IN_USE: 1,
      IDEMPOTENCY_KEY_REUSED: 1,
      IDEMPOTENCY_RECORD_UNREADABLE: 1,
      IDEMPOTENCY_SCOPE_MISSING: 1,
      IDEMPOTENCY_STORE_UNAVAILABLE: 1,
    } satisfies Record<IdempotencyErrorCode, 1>;
    const withHint = refusals.filter(({ retryAfterMs }) => retryAfterMs !== undefined).map(({ code }) => code);
    const expected = (Object.keys(codes) as IdempotencyErrorCode[]).map((code) => ({
      Code: `\`${code}\``,
      HTTP: `${new IdempotencyRejectedError(code, '').status}${withHint.includes(code) ? ', with `Retry-After`' : ''}`,
    }));

    expect(rowsOf('IdempotencyErrors').map(({ Code, HTTP }) => ({ Code, HTTP }))).toEqual(expected);
  });
});
