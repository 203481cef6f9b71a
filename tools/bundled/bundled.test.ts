import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ClientProxyFactory, Transport } from '@nestjs/microservices';
import { firstValueFrom } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildPackages, compiled } from '../compiled.ts';
import { install } from '../installed.ts';
import { startProgram } from '../program.ts';
import { pathTo } from '../readme.mjs';

const MINUTE = 60_000;
const BUNDLERS = ['esbuild', 'rolldown', 'rspack'] as const;
const FORMATS = ['esm', 'cjs'] as const;
const EACH = BUNDLERS.flatMap((bundler) => FORMATS.map((format) => ({ bundler, format })));
const OPTIONAL_PEERS = ['@nestjs/microservices', '@nestjs/websockets', 'graphql'];
const OVER_HTTP = [
  '@nestjs/common',
  '@nestjs/core',
  '@nestjs/idempotency',
  '@nestjs/platform-express',
  '@nestjs/resilience',
  'reflect-metadata',
  'rxjs',
];

type Entry = 'http' | 'messages';

interface Target {
  readonly bundler: (typeof BUNDLERS)[number];
  readonly format: (typeof FORMATS)[number];
}

let workshop: string;

beforeAll(async () => {
  buildPackages();
  workshop = await realpath(await mkdtemp(join(tmpdir(), 'holdfast-bundled-')));
}, MINUTE);

afterAll(async () => {
  await rm(workshop, { recursive: true, force: true });
});

/** A project that was compiled, with the documentation's configurations of bundlers. */
async function compiledProject(name: string, packages: readonly string[]): Promise<string> {
  const folder = join(workshop, name);
  await mkdir(join(folder, 'dist'), { recursive: true });
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name, private: true, type: 'module' }));
  await install(folder, packages);
  for (const source of ['http', 'messages', 'quotes', 'serve']) {
    await writeFile(join(folder, `dist/${source}.js`), compiled(`tools/bundled/application/${source}.ts`));
  }
  for (const config of [...BUNDLERS, 'optional-packages']) {
    await writeFile(join(folder, `${config}.js`), compiled(`docs/snippets/bundling/${config}.ts`));
  }
  return folder;
}

/** Bundles a program that starts the application, at its top level where that may wait. Its only file. */
async function bundle(folder: string, entry: Entry, { bundler, format }: Target): Promise<string> {
  const wait = format === 'esm' ? 'await' : 'void';
  await writeFile(join(folder, 'dist/main.js'), `import { start } from './${entry}.js';\n${wait} start();\n`);
  await rm(join(folder, 'bundle'), { recursive: true, force: true });
  await execute(process.execPath, [pathTo('tools/bundled/bundle.mjs'), bundler, format], { cwd: folder });
  const name = format === 'esm' ? 'main.mjs' : 'main.cjs';
  expect(await readdir(join(folder, 'bundle'))).toEqual([name]);

  return join(folder, 'bundle', name);
}

const execute = promisify(execFile);

/** What a client is told at the port of a program, which then has to end by itself and without a complaint. */
async function answersOf<T>(file: string, ask: (port: number) => Promise<T>): Promise<T | undefined> {
  const program = await startProgram(file);
  const answers = program.firstLine === '' ? undefined : await ask(Number(program.firstLine));
  expect(await program.end()).toEqual({ errors: '', exitCode: 0 });

  return answers;
}

/** Whether a package lies where a file would find it. */
function isFound(name: string, from: string): boolean {
  const folders = createRequire(from).resolve.paths(name) ?? [];

  return folders.some((folder) => existsSync(join(folder, name)));
}

describe('An application over HTTP without the optional peers, bundled into one file', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await compiledProject('http', OVER_HTTP);
  }, MINUTE);

  it('finds none of them while it is bundled', () => {
    const found = [...OPTIONAL_PEERS, '@nestjs/core'].filter((name) => isFound(name, join(folder, 'dist/main.js')));

    expect(found).toEqual(['@nestjs/core']);
  });

  it.each(EACH)(
    'by $bundler as $format starts with nothing beside it, and answers 200, a timeout’s 504, and a booking once',
    async (target) => {
      const file = await bundle(folder, 'http', target);
      const alone = join(await mkdtemp(join(workshop, 'alone-')), `main.${target.format === 'esm' ? 'mjs' : 'cjs'}`);
      await rename(file, alone);
      expect(isFound('@nestjs/core', alone)).toBe(false);

      const answers = await answersOf(alone, async (port) => [
        await get(`http://127.0.0.1:${port}/fine`),
        await get(`http://127.0.0.1:${port}/slow`),
        await book(port, '/bookings'),
        await book(port, '/bookings'),
        await book(port, '/bookings?express'),
      ]);

      const message = 'The operation timed out';
      expect(answers).toEqual([
        { status: 200, body: { fine: true } },
        { status: 504, body: { statusCode: 504, error: 'Gateway Timeout', message, code: 'TIMEOUT' } },
        { status: 201, replayed: null, code: undefined, booked: 1 },
        { status: 201, replayed: 'true', code: undefined, booked: 1 },
        { status: 422, replayed: null, code: 'IDEMPOTENCY_KEY_REUSED', booked: undefined },
      ]);
    },
    MINUTE,
  );
});

describe('An application with messages over TCP, bundled into one file', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await compiledProject('messages', [...OVER_HTTP, '@nestjs/microservices']);
  }, MINUTE);

  it.each(EACH)(
    'by $bundler as $format tells a timeout and a refusal by their payloads, though other copies lie beside it on the disk',
    async (target) => {
      const file = await bundle(folder, 'messages', target);
      expect(isFound('@nestjs/microservices', file)).toBe(true);
      expect(isFound('@nestjs/resilience', file)).toBe(true);

      expect(isFound('@nestjs/idempotency', file)).toBe(true);

      const answers = await answersOf(file, async (port) => [
        await send(port, 'fine'),
        await send(port, 'slow'),
        await send(port, 'book', { idempotencyKey: 'a' }),
        await send(port, 'book', { idempotencyKey: 'a' }),
        await send(port, 'book', { idempotencyKey: 'a', express: true }),
      ]);

      const payload = { status: 'error', code: 'TIMEOUT', statusCode: 504, message: 'The operation timed out' };
      expect(answers).toEqual([
        { answer: { fine: true } },
        { error: payload },
        { answer: { booked: 1 } },
        { answer: { booked: 1 } },
        {
          error: expect.objectContaining({
            status: 'error',
            code: 'IDEMPOTENCY_KEY_REUSED',
            statusCode: 422,
          }) as unknown,
        },
      ]);
    },
    MINUTE,
  );
});

async function get(url: string): Promise<unknown> {
  const response = await fetch(url, { headers: { connection: 'close' } });

  return { status: response.status, body: await response.json() };
}

/** Always with the same key. */
async function book(port: number, path: string): Promise<unknown> {
  const headers = { connection: 'close', 'idempotency-key': 'a' };
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers });
  const { code, booked } = (await response.json()) as { readonly code?: string; readonly booked?: number };

  return { status: response.status, replayed: response.headers.get('idempotent-replayed'), code, booked };
}

async function send(port: number, pattern: string, data: object = {}): Promise<unknown> {
  const client = ClientProxyFactory.create({ transport: Transport.TCP, options: { host: '127.0.0.1', port } });
  try {
    return { answer: await firstValueFrom(client.send<unknown>(pattern, data)) };
  } catch (error) {
    return { error };
  } finally {
    await client.close();
  }
}
