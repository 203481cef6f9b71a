import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** The proof starts servers of its own, as the compiled files that users get. */
export default function buildProof(): void {
  const compiler = at('../../../node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [compiler, '-b', at('../tsconfig.proof.json')], { stdio: 'inherit' });
}
