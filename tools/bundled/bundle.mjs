// Bundles the project in whose folder it is started, by the configuration that lies there.
// Usage: node bundle.mjs esbuild|rolldown|rspack esm|cjs
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

/** @type {Record<string, (options: any) => Promise<void>>} */
const bundlers = {
  async esbuild(options) {
    const { build } = await import('esbuild');
    await build({ ...options, logLevel: 'warning' });
  },
  async rolldown(options) {
    const { build } = await import('rolldown');
    await build(options);
  },
  async rspack(options) {
    const { rspack } = await import('@rspack/core');
    const compiler = rspack(options);
    const stats = await promisify(compiler.run.bind(compiler))();
    if (stats?.hasErrors() !== false) throw new Error(stats?.toString('errors-only'));
  },
};

const [bundler = '', format = ''] = process.argv.slice(2);
const configuration = await import(pathToFileURL(join(process.cwd(), `${bundler}.js`)).href);
await bundlers[bundler]?.(configuration[format]);
