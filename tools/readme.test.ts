import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { firstBlock, pathTo } from './readme.mjs';

const readme = readFileSync(pathTo('README.md'), 'utf8');

describe('the README', () => {
  it.each(['npm ci && npm start', 'npm ci && npm test'])('gives `%s` as one line to copy', (command) => {
    expect(readme.split('\n')).toContain(command);
  });

  it('shows a program of about twenty lines', () => {
    const lines = firstBlock('README.md', 'ts')
      .split('\n')
      .filter((line) => line.trim() !== '');

    expect(lines.length).toBeLessThanOrEqual(20);
  });

  it('shows the same program and output as the engine’s own README', () => {
    for (const language of ['ts', 'text']) {
      expect(firstBlock('packages/holdfast/README.md', language)).toBe(firstBlock('README.md', language));
    }
  });

  it('maps the folders that exist, all of them', () => {
    const mapped = [...readme.matchAll(/^\| `([\w/-]+)\/`/gm)].map((match) => match[1]);

    expect(mapped.toSorted()).toEqual(foldersOfTheProject());
  });
});

function foldersOfTheProject(): string[] {
  const top = foldersIn('.').filter((folder) => folder !== 'node_modules');
  const parents = ['packages', 'examples'];
  const inner = parents.flatMap((parent) => foldersIn(parent).map((folder) => `${parent}/${folder}`));

  return [...top.filter((folder) => !parents.includes(folder)), ...inner].toSorted();
}

function foldersIn(path: string): string[] {
  return readdirSync(pathTo(path), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
    .map((entry) => entry.name);
}
