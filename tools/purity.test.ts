import { dirname } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { pathTo } from './readme.mjs';

const config = pathTo('packages/holdfast/tsconfig.src.json');
const planted = pathTo('packages/holdfast/src/planted.ts');

/** What the compiler says of a file among the engine's sources, under the engine's own options. */
function complaintsAbout(source: string): string[] {
  const read = ts.readConfigFile(config, ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(read.config, ts.sys, dirname(config));
  const host = ts.createCompilerHost(options);
  const { getSourceFile } = host;
  host.getSourceFile = (name, languageVersion, ...rest) =>
    name === planted
      ? ts.createSourceFile(name, source, languageVersion, true)
      : getSourceFile.call(host, name, languageVersion, ...rest);
  const fileExists = host.fileExists.bind(host);
  host.fileExists = (name) => name === planted || fileExists(name);
  const program = ts.createProgram([planted], options, host);

  return program
    .getSemanticDiagnostics(program.getSourceFile(planted))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '));
}

describe('the engine’s compiler options', { timeout: 60_000 }, () => {
  it.each([
    ['process', 'export const pid = process.pid;', /Cannot find name 'process'/],
    ['Buffer', "export const bytes = Buffer.from('x');", /Cannot find name 'Buffer'/],
    ['require', "export const fs = require('fs');", /Cannot find name 'require'/],
    ['a module of Node', "import 'node:fs';", /node:fs/],
    ['setImmediate', 'setImmediate(() => {});', /Cannot find name 'setImmediate'/],
    ['an unreferenced timer', 'setTimeout(() => {}, 1).unref();', /'unref' does not exist on type 'number'/],
    ['the page', 'export const title = document.title;', /Cannot find name 'document'/],
  ])('refuse %s', (_what, source, complaint) => {
    expect(complaintsAbout(source)).toEqual([expect.stringMatching(complaint)]);
  });

  it('know the web platform', () => {
    const source = `
      const controller = new AbortController();
      setTimeout(() => controller.abort(new DOMException('late', 'TimeoutError')), 5);
      export const answer = fetch('https://example.org', { signal: controller.signal });
    `;

    expect(complaintsAbout(source)).toEqual([]);
  });
});
