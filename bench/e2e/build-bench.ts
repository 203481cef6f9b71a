import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** The load test starts processes of its own, as compiled files. */
export default function buildBench(): void {
  const compiler = at('../../node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [compiler, '-b', at('../tsconfig.src.json')], { stdio: 'inherit' });
}
