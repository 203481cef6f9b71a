import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** These suites start the shop as `npm start` does, from its compiled files; takes a second when they are up to date. */
export function buildShop(): void {
  const compiler = at('../../../node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [compiler, '-b', at('../tsconfig.src.json')], { stdio: 'pipe' });
}
