// Reads what the READMEs show, so that checks run what readers see.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = new URL('..', import.meta.url);

/** @param {string} path A path within the repository. */
export const pathTo = (path) => fileURLToPath(new URL(path, root));

/**
 * The first fenced block of a language.
 * @param {string} path The README's path within the repository.
 * @param {string} language
 * @returns {string}
 */
export function firstBlock(path, language) {
  const text = readFileSync(pathTo(path), 'utf8');
  const block = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'ms').exec(text)?.[1];
  if (block === undefined) throw new Error(`${path} shows no \`${language}\` block`);

  return block;
}
