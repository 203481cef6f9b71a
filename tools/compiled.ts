import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import ts from 'typescript';
import { pathTo } from './readme.mjs';

/** What a compiler leaves of a source: decorators with their metadata, and no types. */
export function compiled(path: string): string {
  const compilerOptions = {
    module: ts.ModuleKind.ES2022,
    target: ts.ScriptTarget.ES2022,
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
  };
  return ts.transpileModule(readFileSync(pathTo(path), 'utf8'), { compilerOptions }).outputText;
}

/** Brings what is published of this repository's packages up to date. */
export function buildPackages(): void {
  const compiler = pathTo('node_modules/typescript/bin/tsc');
  const projects = ['resilience', 'idempotency'].map((name) => pathTo(`packages/${name}/tsconfig.src.json`));
  execFileSync(process.execPath, [compiler, '-b', ...projects]);
}
