// Bundles the built engine with its tests for a runtime of which only the web platform is known.
import { build } from 'esbuild';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const engine = resolve(here, '../../packages/holdfast');
const sources = join(engine, 'src');

/** Tests whose subject is Node say so by what they import. */
const NEEDS_NODE = /from 'node:|\/host\.node\.js'/;
const TEST_FILE = /\.(test|model)\.js$/;

/** @returns {{ bare: string[], node: string[] }} Paths of the test files below the sources. */
export function testFiles() {
  const all = readdirSync(sources, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.test.ts'));
  /** @param {string} path */
  const needsNode = (path) => NEEDS_NODE.test(readFileSync(join(sources, path), 'utf8'));

  return { bare: all.filter((path) => !needsNode(path)).toSorted(), node: all.filter(needsNode).toSorted() };
}

/**
 * Tests import their neighbours among the sources; here they get what was built of them.
 * @type {import('esbuild').Plugin}
 */
const builtEngine = {
  name: 'built-engine',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\.?\// }, ({ path, importer }) => {
      if (!importer.startsWith(sources)) return undefined;

      const target = resolve(dirname(importer), path);
      if (TEST_FILE.test(path)) return { path: target.replace(/js$/, 'ts') };
      return { path: join(engine, 'dist', relative(sources, target)) };
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
 * @param {string[]} paths
 * @returns {import('esbuild').Plugin}
 */
function bundledTestFiles(paths) {
  const entries = paths.map((path) => `${JSON.stringify(path)}: () => import(${JSON.stringify(join(sources, path))})`);
  return {
    name: 'bundled-test-files',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^bundled-test-files$/ }, ({ path }) => ({ path, namespace: 'made' }));
      onLoad({ filter: /.*/, namespace: 'made' }, () => ({
        contents: `export const files = { ${entries.join(',\n')} };`,
        resolveDir: sources,
      }));
    },
  };
}

/**
 * @param {string[]} paths The test files, below the sources.
 * @returns {Promise<string>} A script that leaves `bundle.runFile` behind.
 */
export async function bundle(paths) {
  const { outputFiles } = await build({
    entryPoints: [join(here, 'suite.ts')],
    bundle: true,
    write: false,
    format: 'iife',
    globalName: 'bundle',
    platform: 'neutral',
    target: 'es2022',
    mainFields: ['module', 'main'],
    conditions: ['import', 'default'],
    // The fake clock's name for it; the engine, which knows no Node, has no such name to hide.
    define: { global: 'globalThis' },
    alias: { vitest: join(here, 'vitest.ts') },
    plugins: [builtEngine, bundledTestFiles(paths), clockWithoutNode],
    sourcemap: 'inline',
    tsconfigRaw: {},
    logLevel: 'silent',
  });
  return /** @type {string} */ (outputFiles[0]?.text);
}
