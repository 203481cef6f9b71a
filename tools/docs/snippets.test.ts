import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { pathTo } from '../readme.mjs';
import { blocksOf, pages, read, regionsIn, snippet, synchronized } from './pages.mjs';

const paths = pages();
const blocks = paths.flatMap((path) => blocksOf(read(path)).map((block) => ({ path, ...block })));

describe('the documentation’s snippets', () => {
  it('are many', () => {
    expect(paths.length).toBeGreaterThan(10);
    expect(blocks.filter(({ language }) => language === 'ts').length).toBeGreaterThan(30);
  });

  it('come from files that run, each of them', () => {
    // Commands to copy and drawings are no output of anything.
    const free = ['sh', ''];
    const loose = blocks.filter(({ language, source }) => source === undefined && !free.includes(language));

    expect(loose.map(({ path, line }) => `${path}:${line}`)).toEqual([]);
  });

  it.each(paths)('of %s are what these files say (npm run docs:sync writes them)', (path) => {
    expect(synchronized(read(path))).toBe(read(path));
  });

  it('are regions of tested snippets, of the examples, or of what end-to-end tests run', () => {
    const sources = new Set(blocks.flatMap(({ source }) => source?.split('#')[0] ?? []));

    for (const source of sources) expect(source).toMatch(/^(docs\/snippets|examples|packages\/\w+\/e2e)\//);
  });

  it('are shown somewhere, each of them', () => {
    const shown = new Set(blocks.map(({ source }) => source));
    const written = filesIn('docs/snippets').flatMap((path) =>
      path.endsWith('.ts') ? regionsIn(read(path)).map((region) => `${path}#${region}`) : [path],
    );

    expect(written.filter((source) => !shown.has(source))).toEqual([]);
  });
});

describe('the helpers of snippets', () => {
  const calling = paths.filter((path) =>
    blocksOf(read(path)).some(({ source, content }) => source?.startsWith('docs/') && content.includes('fetchQuotes(')),
  );

  it('are used on many pages', () => {
    expect(calling.length).toBeGreaterThan(5);
  });

  it.each(calling)('are linked from %s', (path) => {
    expect(read(path)).toMatch(/`fetchQuotes\(\)`.*\[carrier\.ts\]\(snippets\/carrier\.ts\)/);
  });
});

describe('the documentation’s links', () => {
  const readmes = ['packages/holdfast', 'packages/resilience', 'packages/idempotency'].map(
    (home) => `${home}/README.md`,
  );

  it.each([...paths, ...readmes])('of %s lead to files and headings that exist', (path) => {
    const links = [...read(path).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map((match) => match[1] ?? '');

    expect(links.filter((link) => !leadsSomewhere(path, link))).toEqual([]);
  });

  it('lead from the README to the first page and to the READMEs of the packages', () => {
    for (const target of ['docs/index.md', ...readmes]) expect(read('README.md')).toContain(`](${target})`);
    for (const readme of readmes) expect(read(readme)).toContain('](../../docs/index.md)');
  });

  it('reach every page from the first one', () => {
    const index = read('docs/index.md');

    for (const path of paths) {
      if (path !== 'docs/index.md' && path !== 'README.md') expect(index).toContain(`](${path.slice('docs/'.length)})`);
    }
  });
});

describe('a region', () => {
  it('that does not exist is named, with those that do', () => {
    expect(() => snippet('examples/shop/src/app.module.ts#nonsense')).toThrow(
      'examples/shop/src/app.module.ts has no region "nonsense" with an end. It has: register-module',
    );
  });
});

function leadsSomewhere(from: string, link: string): boolean {
  const [file = '', anchor] = link.split('#');
  const target = file === '' ? from : normalize(join(dirname(from), file));
  if (!existsSync(pathTo(target))) return false;

  return anchor === undefined || headingsOf(read(target)).includes(anchor);
}

/** As anchors: lower case, without punctuation, dashes for spaces. */
function headingsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map((match) =>
    (match[1] ?? '')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function filesIn(folder: string): string[] {
  return readdirSync(pathTo(folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => normalize(join(folder, entry.parentPath.slice(pathTo(folder).length), entry.name)));
}
