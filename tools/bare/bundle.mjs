// Bundles the built engine with its tests for a runtime of which only the web platform is known.
import { build } from 'esbuild';
import { readdirSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const engine = resolve(here, '../../packages/holdfast');
const sources = join(engine, 'src');

/**
 * Where a relative import leads: to what was built of a source, or to a file that belongs to the tests.
 * @param {string} path
 * @param {string} importer
 */
function locate(path, importer) {
  const target = resolve(dirname(importer), path);
  const isSource = target.startsWith(`${sources}/`) && !/\.(test|model)\.js$/.test(target);

  return isSource
    ? { built: join(engine, 'dist', relative(sources, target)) }
    : { ofTests: target.replace(/js$/, 'ts') };
}

/** @returns {string[]} The engine's test files, within the engine, but for those whose subject is its host on Node. */
export function testFiles() {
  return readdirSync(sources, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts') && !path.endsWith('.node.test.ts'))
    .map((path) => join('src', path))
    .toSorted();
}

/**
 * Tests import their neighbours among the sources; here they get what was built of them.
 * @type {import('esbuild').Plugin}
 */
const builtEngine = {
  name: 'built-engine',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\.?\// }, ({ path, importer }) => {
      if (!importer.startsWith(engine) || importer.startsWith(join(engine, 'dist'))) return undefined;

      const { built, ofTests } = locate(path, importer);
      return { path: built ?? ofTests };
    });
  },
};

/**
 * The fake clock asks for Node's modules, and does without them where there are none.
 * @type {import('esbuild').Plugin}
 */
const clockWithoutNode = {
  name: 'clock-without-node',
  setup({ onResolve }) {
    onResolve({ filter: /^(util|timers|timers\/promises)$/ }, ({ path, importer }) =>
      importer.includes('@sinonjs/fake-timers') ? { path, external: true } : undefined,
    );
  },
};

/**
 * The entry of a bundle: runs its one test file.
 * @type {import('esbuild').Plugin}
 */
const entry = {
  name: 'entry',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^entry:/ }, ({ path }) => ({ path: path.replace('entry:', ''), namespace: 'entry' }));
    onLoad({ filter: /.*/, namespace: 'entry' }, ({ path }) => ({
      contents: `
        import { runFile } from ${JSON.stringify(join(here, 'suite.ts'))};
        export const outcomes = () => runFile(${JSON.stringify(path)}, () => import(${JSON.stringify(join(engine, path))}));
      `,
      resolveDir: here,
    }));
  },
};

/**
 * @param {string[]} paths The test files, within the engine.
 * @returns {Promise<Map<string, string>>} For each of them a script that leaves `bundle.outcomes()` behind.
 */
export async function bundle(paths) {
  const { outputFiles } = await build({
    entryPoints: paths.map((path, index) => ({ in: `entry:${path}`, out: String(index) })),
    bundle: true,
    write: false,
    outdir: here,
    format: 'iife',
    globalName: 'bundle',
    platform: 'neutral',
    target: 'es2022',
    mainFields: ['module', 'main'],
    conditions: ['import', 'default'],
    // The fake clock's name for it; the engine, which knows no Node, has no such name to hide.
    define: { global: 'globalThis' },
    alias: { vitest: join(here, 'vitest.ts') },
    plugins: [builtEngine, entry, clockWithoutNode],
    tsconfigRaw: {},
    logLevel: 'silent',
  });

  return new Map(outputFiles.map(({ path, text }) => [paths[Number.parseInt(basename(path), 10)] ?? '', text]));
}
