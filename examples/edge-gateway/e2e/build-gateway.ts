import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** The README's command runs compiled files; they are brought up to date once, before any worker runs. */
export default function buildGateway(): void {
  const compiler = at('../../../node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [compiler, '-b', at('../tsconfig.node.json')], { stdio: 'inherit' });
}
