import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** The README's commands run compiled files; they are brought up to date once, before any worker runs. */
export default function buildPage(): void {
  const compiler = at('../../../node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [compiler, '-b', at('../tsconfig.src.json')], { stdio: 'inherit' });
}
