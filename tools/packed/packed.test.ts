import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { firstBlock, pathTo } from '../readme.mjs';

const MINUTE = 60_000;

interface Packed {
  readonly name: string;
  readonly folder: string;
  /** What a user installs beside the package, for the program of its README. */
  readonly beside: readonly string[];
  readonly compilerOptions: Record<string, unknown>;
}

/** Those that the documentation tells its readers to set. */
function decoratorFlags(): Record<string, unknown> {
  const shown = readFileSync(pathTo('docs/snippets/shown/decorator-flags.json'), 'utf8');

  return (JSON.parse(shown) as { compilerOptions: Record<string, unknown> }).compilerOptions;
}

const BESIDE_NEST = [
  '@nestjs/common',
  '@nestjs/core',
  '@nestjs/platform-express',
  'reflect-metadata',
  'rxjs',
  '@types/node',
];

const PACKAGES: readonly Packed[] = [
  { name: 'holdfast', folder: 'packages/holdfast', beside: [], compilerOptions: {} },
  {
    name: '@nestjs/resilience',
    folder: 'packages/resilience',
    beside: BESIDE_NEST,
    compilerOptions: { ...decoratorFlags(), types: ['node'] },
  },
  {
    name: '@nestjs/idempotency',
    folder: 'packages/idempotency',
    beside: BESIDE_NEST,
    compilerOptions: { ...decoratorFlags(), types: ['node'] },
  },
];

const tsc = pathTo('node_modules/typescript/bin/tsc');
let workshop: string;
const tarballs: string[] = [];

beforeAll(async () => {
  workshop = await mkdtemp(join(tmpdir(), 'holdfast-packed-'));
  const clone = await freshClone();
  for (const { folder } of PACKAGES) {
    const flags = ['--json', '--foreground-scripts=false', '--pack-destination', workshop];
    const printed = await run('npm', ['pack', ...flags], join(clone, folder));
    tarballs.push(join(workshop, readFilename(JSON.parse(printed))));
  }
}, 5 * MINUTE);

afterAll(async () => {
  await rm(workshop, { recursive: true, force: true });
});

/** The packages as they are after `npm ci`: with what they depend on, and without anything that was built. */
async function freshClone(): Promise<string> {
  const clone = join(workshop, 'clone');
  const modules = join(clone, 'node_modules');
  for (const { folder } of PACKAGES) {
    await cp(pathTo(folder), join(clone, folder), { recursive: true, filter: (path) => basename(path) !== 'dist' });
  }
  await cp(pathTo('tsconfig.base.json'), join(clone, 'tsconfig.base.json'));
  await mkdir(modules);
  for (const name of await readdir(pathTo('node_modules'))) {
    const target = name === 'holdfast' ? join(clone, 'packages/holdfast') : pathTo(`node_modules/${name}`);
    await symlink(target, join(modules, name));
  }
  return clone;
}

/** npm prints a list, newer versions an object by package. */
function readFilename(printed: Record<string, { filename: string }> | { filename: string }[]): string {
  const [first] = Object.values(printed);
  if (first === undefined) throw new Error('npm pack printed no package');

  return first.filename;
}

const execute = promisify(execFile);

/** Runs a program; what it printed is the message when it fails. */
async function run(program: string, args: readonly string[], cwd = workshop): Promise<string> {
  try {
    const { stdout } = await execute(program, args, { cwd });
    return stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${program} ${args.join(' ')} failed:\n${stdout}${stderr}`, { cause: error });
  }
}

async function pinned(name: string): Promise<string> {
  const manifest: unknown = JSON.parse(await readFile(pathTo(`node_modules/${name}/package.json`), 'utf8'));
  return `${name}@${(manifest as { version: string }).version}`;
}

/** An empty project with nothing but the package and what its README's program imports. */
async function install(packed: Packed, type: 'module' | 'commonjs'): Promise<string> {
  const project = join(workshop, `${packed.folder.replaceAll('/', '-')}-${type}`);
  await mkdir(project);
  await writeFile(join(project, 'package.json'), JSON.stringify({ name: 'reader', private: true, type }));
  // The engine, and what stands on it, which is of use without its siblings.
  const own = [...new Set([tarballs[0], tarballs[PACKAGES.indexOf(packed)]])].filter((file) => file !== undefined);
  const beside = await Promise.all(packed.beside.map(pinned));
  const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
  await run('npm', ['install', ...flags, ...own, ...beside], project);
  return project;
}

/** @param file The project's only source. */
async function compile(project: string, file: string, options: Record<string, unknown>): Promise<void> {
  const compilerOptions = { module: 'nodenext', target: 'es2022', strict: true, types: [], outDir: 'out', ...options };
  const config = join(project, 'tsconfig.json');
  await writeFile(config, JSON.stringify({ compilerOptions, files: [file] }));
  await run(process.execPath, [tsc, '-p', config], project);
}

/** The names by which a package is entered. */
function entriesOf({ name, folder }: Packed): string[] {
  const manifest = JSON.parse(readFileSync(pathTo(`${folder}/package.json`), 'utf8')) as { exports: object };

  return Object.entries(manifest.exports).flatMap(([subpath, target]) =>
    typeof target === 'object' ? [name + subpath.slice(1)] : [],
  );
}

/** A program that prints which entries of a package have something to offer. */
function visiting(entries: readonly string[]): string {
  const visits = entries.map(
    (entry, index) => `import * as entry${index} from '${entry}';
      if (Object.keys(entry${index}).length > 0) console.log('${entry}');`,
  );

  return visits.join('\n');
}

/**
 * What the compiler finds wrong in our declarations when it checks libraries too, as where an optional peer is
 * missing. Those of NestJS and its dependencies are not ours to judge.
 */
async function complaintsAboutOurs(project: string, packed: Packed): Promise<string[]> {
  const printed = await compile(project, 'program.ts', packed.compilerOptions).catch(String);

  return (printed ?? '')
    .split('\n')
    .filter((line) => /node_modules\/(@nestjs\/(resilience|idempotency)|holdfast)\//.test(line));
}

describe.each(PACKAGES)('$name, packed', (packed) => {
  it.each(['module', 'commonjs'] as const)(
    'is installed into an empty %s project, where its README’s program compiles and prints what the README says, and each entry loads',
    async (type) => {
      const project = await install(packed, type);
      await writeFile(join(project, 'program.ts'), firstBlock(`${packed.folder}/README.md`, 'ts'));

      await compile(project, 'program.ts', { ...packed.compilerOptions, skipLibCheck: true });
      const printed = await run(process.execPath, [join(project, 'out/program.js')], project);

      expect(printed).toBe(firstBlock(`${packed.folder}/README.md`, 'text'));
      expect(await complaintsAboutOurs(project, packed)).toEqual([]);

      const entries = entriesOf(packed);
      await writeFile(join(project, 'entries.ts'), visiting(entries));
      await compile(project, 'entries.ts', { ...packed.compilerOptions, skipLibCheck: true, lib: ['es2022', 'dom'] });
      expect(await run(process.execPath, [join(project, 'out/entries.js')], project)).toBe(`${entries.join('\n')}\n`);
    },
    5 * MINUTE,
  );

  it('holds the licence, a README, and for every output its source and no test', async () => {
    const unpacked = join(workshop, `${packed.folder.replaceAll('/', '-')}-unpacked`);
    await mkdir(unpacked);
    await run('tar', ['-xzf', tarballs[PACKAGES.indexOf(packed)] ?? '', '-C', unpacked]);
    const files = await readdir(join(unpacked, 'package'), { recursive: true });

    expect(files).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'package.json', 'dist/index.js']));
    expect(files.filter((file) => /\.(test|model)\.|tsbuildinfo/.test(file))).toEqual([]);
    const sources = new Set(files.filter((file) => file.startsWith('src/')));
    const outputs = files.filter((file) => /^dist\/.*(?<!\.d)\.js$/.test(file));
    const orphans = outputs.filter((file) => !sources.has(file.replace('dist/', 'src/').replace(/\.js$/, '.ts')));
    expect(orphans, 'outputs without a source').toEqual([]);
  });
});
