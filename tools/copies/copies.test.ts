import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClientProxyFactory, Transport } from '@nestjs/microservices';
import { firstValueFrom } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { buildPackages, compiled } from '../compiled.ts';
import { copyPackage } from '../installed.ts';
import { startProgram, type Program } from '../program.ts';
import { pathTo } from '../readme.mjs';

const MINUTE = 60_000;

/** What Nest's own packages share, and of which this package would find copies that are only its own. */
const PEERS = ['@nestjs/microservices', '@nestjs/websockets', 'graphql'];

/** The packages that an application puts between itself and Nest. */
const OURS = [
  { name: '@nestjs/resilience', source: 'packages/resilience', peers: PEERS },
  { name: '@nestjs/idempotency', source: 'packages/idempotency', peers: ['@nestjs/microservices', 'graphql'] },
];

type Entries = Readonly<Record<string, string>>;

interface Started {
  readonly application: Entries;
  /** Those that a bare import in this package would lead to. */
  readonly ours: Entries;
  readonly library: Entries;
  readonly warnings: readonly string[];
  readonly http: number;
  readonly tcp: number;
}

interface Layout {
  readonly name: string;
  /** Puts this package into the folder of an application, with copies of its own of what it needs. */
  readonly place: (folder: string) => Promise<void>;
  readonly args: readonly string[];
}

const LAYOUTS: readonly Layout[] = [
  { name: 'nested in the package', place: nest, args: [] },
  { name: 'nested in the package, with links as they are', place: nest, args: ['--preserve-symlinks'] },
  { name: 'linked beside the package in a store', place: store, args: [] },
];

let workshop: string;

beforeAll(async () => {
  buildPackages();
  workshop = await realpath(await mkdtemp(join(tmpdir(), 'holdfast-copies-')));
}, MINUTE);

afterAll(async () => {
  await rm(workshop, { recursive: true, force: true });
});

const modulesOf = (folder: string): string => join(folder, 'node_modules');

/** As npm does when versions differ. */
async function nest(folder: string): Promise<void> {
  for (const { name, source, peers } of OURS) {
    const home = join(modulesOf(folder), name);
    await copyPackage(pathTo(source), home);
    await copyNeeds(modulesOf(home), peers);
  }
}

/** As pnpm does: what a package finds lies beside it, and the application has a link to it. */
async function store(folder: string): Promise<void> {
  for (const { name, source, peers } of OURS) {
    const beside = join(modulesOf(folder), '.store', source, 'node_modules');
    const home = join(beside, name);
    await copyPackage(pathTo(source), home);
    await copyNeeds(beside, peers);
    await symlink(home, join(modulesOf(folder), name));
  }
}

async function copyNeeds(modules: string, peers: readonly string[]): Promise<void> {
  await copyPackage(pathTo('packages/holdfast'), join(modules, 'holdfast'));
  for (const peer of peers) await copyPackage(pathTo(`node_modules/${peer}`), join(modules, peer));
}

/** Everything else is what this repository has installed; the library has copies of its own of our packages. */
async function layOut({ name, place }: Layout): Promise<string> {
  const folder = join(workshop, name.replaceAll(/\W+/g, '-'));
  await linkInstalled(folder);
  await copyPackage(pathTo('packages/holdfast'), join(modulesOf(folder), 'holdfast'));
  await place(folder);
  const library = join(folder, 'library');
  await copyPackage(pathTo('packages/holdfast'), join(modulesOf(library), 'holdfast'));
  for (const user of [library, join(library, 'plugin')]) {
    await copyPackage(pathTo('packages/resilience'), join(modulesOf(user), '@nestjs/resilience'));
  }
  await copyPackage(pathTo('packages/idempotency'), join(modulesOf(library), '@nestjs/idempotency'));

  await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'copies', private: true, type: 'module' }));
  for (const source of ['main', 'entrypoints', 'event-counts', 'library/library', 'library/plugin/plugin']) {
    await writeFile(join(folder, `${source}.js`), compiled(`tools/copies/application/${source}.ts`));
  }
  return folder;
}

async function linkInstalled(folder: string): Promise<void> {
  const modules = modulesOf(folder);
  await mkdir(join(modules, '@nestjs'), { recursive: true });
  const scoped = (await readdir(pathTo('node_modules/@nestjs'))).map((name) => `@nestjs/${name}`);
  for (const name of [...(await readdir(pathTo('node_modules'))), ...scoped]) {
    if (['@nestjs', ...OURS.map((our) => our.name), 'holdfast'].includes(name) || name.startsWith('.')) continue;

    await symlink(pathTo(`node_modules/${name}`), join(modules, name));
  }
}

describe.each(LAYOUTS)('An application and this package with different copies of packages, $name', (layout) => {
  let program: Program;
  let started: Started;
  let ended: Awaited<ReturnType<Program['end']>> | undefined;

  beforeAll(async () => {
    program = await startProgram(join(await layOut(layout), 'main.js'), layout.args);
    if (program.firstLine === '') throw new Error((await program.end()).errors);
    started = JSON.parse(program.firstLine) as Started;
  }, MINUTE);

  afterAll(async () => {
    ended ??= await program.end();
  });

  const get = async (path: string): Promise<Answer> => {
    const response = await fetch(`http://127.0.0.1:${started.http}/${path}`, { headers: { connection: 'close' } });
    const { status, headers } = response;
    return {
      status,
      retryAfter: headers.get('retry-after'),
      degraded: headers.get('x-degraded'),
      body: await read(response),
    };
  };

  const post = async (path: string, key: string): Promise<Answer & { readonly replayed: string | null }> => {
    const headers = { connection: 'close', 'idempotency-key': key };
    const response = await fetch(`http://127.0.0.1:${started.http}/${path}`, { method: 'POST', headers });
    return {
      status: response.status,
      retryAfter: response.headers.get('retry-after'),
      degraded: response.headers.get('x-degraded'),
      replayed: response.headers.get('idempotent-replayed'),
      body: await read(response),
    };
  };

  it('find different files by the same names', async () => {
    const { application, ours, library } = started;
    for (const name of ['holdfast', ...OURS.map((our) => our.name), ...PEERS]) {
      const found = [application[name], ours[name], library[name]].filter((file) => file !== undefined);
      const files = await Promise.all(found.map((file) => realpath(file)));

      expect(files.length, name).toBeGreaterThan(1);
      expect(new Set(files).size, name).toBe(files.length);
    }
  });

  it('answers over HTTP with the statuses of a timeout, an open breaker, and a refusal by the application’s engine', async () => {
    expect(await get('slow')).toMatchObject({ status: 504, body: { code: 'TIMEOUT' } });
    expect(await get('open')).toMatchObject({ status: 503, body: { code: 'CIRCUIT_OPEN' } });
    expect(await get('refused')).toMatchObject({ status: 503, retryAfter: '2', body: { code: 'CIRCUIT_OPEN' } });
  });

  it('tells clients over TCP by the payload', async () => {
    const client = ClientProxyFactory.create({
      transport: Transport.TCP,
      options: { host: '127.0.0.1', port: started.tcp },
    });
    const failureOf = (pattern: string): Promise<unknown> =>
      firstValueFrom(client.send<unknown>(pattern, {})).catch((error: unknown) => error);

    expect(await failureOf('slow')).toEqual(payload('TIMEOUT'));
    expect(await failureOf('open')).toMatchObject(payload('CIRCUIT_OPEN'));
    expect(await failureOf('refused')).toEqual({ ...payload('CIRCUIT_OPEN'), retryAfter: 2 });
    await client.close();
  });

  it('tells clients over WebSockets by the payload', async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${started.http}`);
    await once(socket, 'open');
    const failureOf = async (event: string): Promise<unknown> => {
      socket.send(JSON.stringify({ event, data: {} }));
      const [message] = (await once(socket, 'message')) as [Buffer];
      return JSON.parse(message.toString());
    };

    expect(await failureOf('slow')).toEqual({ event: 'exception', data: payload('TIMEOUT') });
    expect(await failureOf('open')).toMatchObject({ event: 'exception', data: payload('CIRCUIT_OPEN') });
    expect(await failureOf('refused')).toMatchObject({ data: { code: 'CIRCUIT_OPEN', retryAfter: 2 } });
    socket.close();
    await once(socket, 'close');
  });

  it('fails fields of GraphQL with their extensions', async () => {
    const response = await fetch(`http://127.0.0.1:${started.http}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({ query: '{ slow open refused }' }),
    });
    const { data, errors } = (await response.json()) as GraphqlBody;

    expect(response.status).toBe(200);
    expect(data).toEqual({ slow: null, open: null, refused: null });
    const byField = Object.fromEntries(errors.map(({ path, extensions }) => [path.join('.'), extensions]));
    expect(byField).toMatchObject({
      slow: { code: 'TIMEOUT', httpStatus: 504 },
      open: { code: 'CIRCUIT_OPEN', httpStatus: 503 },
      refused: { code: 'CIRCUIT_OPEN', httpStatus: 503, retryAfter: 2 },
    });
  });

  it('tells each client by its own means that a key is missing', async () => {
    const client = ClientProxyFactory.create({
      transport: Transport.TCP,
      options: { host: '127.0.0.1', port: started.tcp },
    });
    const refusal = await firstValueFrom(client.send<unknown>('book', {})).catch((error: unknown) => error);
    await client.close();
    const response = await fetch(`http://127.0.0.1:${started.http}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({ query: '{ booked }' }),
    });
    const { errors } = (await response.json()) as GraphqlBody;

    expect(refusal).toMatchObject({ status: 'error', code: 'IDEMPOTENCY_KEY_REQUIRED', statusCode: 400 });
    expect(errors).toMatchObject([{ extensions: { code: 'IDEMPOTENCY_KEY_REQUIRED', httpStatus: 400 } }]);
  });

  it('frees the key of a call that an engine has timed out, and of one that it has refused', async () => {
    for (const path of ['slow', 'refused']) {
      const [first, second] = [await post(path, 'a'), await post(path, 'a')];

      expect(first.status, path).toBeGreaterThan(500);
      expect({ ...second, retryAfter: null }, path).toEqual({ ...first, retryAfter: null });
      expect(second.replayed, path).toBeNull();
    }
  });

  it('counts in a breaker what an error of the application’s engine says', async () => {
    expect(await get('counted')).toMatchObject({ status: 504 });
    expect(await get('counted')).toMatchObject({ status: 504 });
    expect(await get('counted')).toMatchObject({ status: 503, body: { code: 'CIRCUIT_OPEN' } });
  });

  it('gives up what the application’s engine runs inside of an attempt together with that', async () => {
    expect(await get('inside')).toMatchObject({ status: 504 });
    expect(await get('reason-inside')).toMatchObject({
      body: { name: 'ResilienceTimeoutError', message: 'Timed out after 50ms' },
    });
  });

  describe('with a library of entrypoints that has copies of its own', () => {
    it('applies its decorators, and hands it the signal of the attempt', async () => {
      expect(await get('library/slow')).toMatchObject({ status: 504, body: { code: 'TIMEOUT' } });
      expect(await get('library/context')).toMatchObject({ status: 200, body: { attempt: 1, isTheSame: true } });
    });

    it('keeps the slot of a handler that goes on after its timeout', async () => {
      expect(await get('library/deaf')).toMatchObject({ status: 504 });
      expect(await get('library/deaf')).toMatchObject({ status: 503, body: { code: 'BULKHEAD_FULL' } });
    });

    it('marks an answer of which its engine says that something is missing', async () => {
      const { status, degraded, body } = await get('library/page');

      expect({ status, degraded }).toEqual({ status: 200, degraded: expect.stringMatching(/^reviews=/) as unknown });
      expect(body).toMatchObject({ data: { quotes: ['ground'] }, partial: true });
    });

    it('takes keys, also for an answer in which something is missing', async () => {
      const [first, second] = [await post('library/bookings', 'b'), await post('library/bookings', 'b')];
      expect([first.body, second.body]).toEqual([{ booked: 1 }, { booked: 1 }]);
      expect([first.replayed, second.replayed]).toEqual([null, 'true']);

      const [page, again] = [await post('library/page', 'c'), await post('library/page', 'c')];
      expect(page.degraded).toMatch(/^reviews=/);
      expect(again).toEqual({ ...page, replayed: 'true' });
    });

    it('warns of what its decorators do not do', () => {
      expect(started.warnings.toSorted()).toEqual([
        expect.stringContaining('@Signal() on LibraryController.pointless() is always undefined'),
        expect.stringContaining('Resilience decorators on LibraryResolver.motto() have no effect'),
      ]);
    });
  });

  it('publishes each event once, whichever engine it comes from', async () => {
    await get('events');

    await get('slow');
    expect((await get('events')).body).toEqual(single('timeout', { told: true }));
    await get('library/policy');
    expect((await get('events')).body).toEqual(single('timeout', { told: false }));
    await get('library/page');
    expect((await get('events')).body).toEqual(single('degraded', { told: true }));
  });

  it('closes without a complaint', async () => {
    ended = await program.end();

    expect(ended).toEqual({ errors: '', exitCode: 0 });
  });
});

interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly degraded: string | null;
  readonly body: unknown;
}

interface GraphqlBody {
  readonly data: unknown;
  readonly errors: readonly { readonly path: readonly string[]; readonly extensions: unknown }[];
}

async function read(response: Response): Promise<unknown> {
  const body = await response.text();

  return body.startsWith('{') ? JSON.parse(body) : body;
}

/** What clients of messages are told. */
function payload(code: 'TIMEOUT' | 'CIRCUIT_OPEN'): object {
  return code === 'TIMEOUT'
    ? { status: 'error', code, statusCode: 504, message: 'The operation timed out' }
    : { status: 'error', code, statusCode: 503, message: 'Service temporarily unavailable' };
}

/** The counts of one event; `events$` tells those of its application only. */
function single(type: string, { told }: { readonly told: boolean }): object {
  return { [`holdfast:${type}`]: 1, [`nestjs:resilience:${type}`]: 1, ...(told && { [`events$ ${type}`]: 1 }) };
}
