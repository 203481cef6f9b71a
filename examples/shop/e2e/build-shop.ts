import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/**
 * Some suites start the shop as `npm start` does, from its compiled files. They are brought up to date once, before any
 * worker runs: two compilers at a time, or one beside a shop that starts, would leave files half written.
 */
export default function buildShop(): void {
  const compiler = at('../../../node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [compiler, '-b', at('../tsconfig.src.json')], { stdio: 'inherit' });
}
