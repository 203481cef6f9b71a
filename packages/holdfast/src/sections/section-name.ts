import { OptionError, show } from '../options.js';

/** A token of HTTP (RFC 9110, section 5.6.2): what can stand in a header without quotes. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Stands for the whole answer, and so for no section of it. */
export const ALL_SECTIONS = '*';

/** @throws TypeError when sections cannot be called this, since headers show their names. */
export function requireSectionName(name: unknown, path: string): string {
  if (typeof name === 'string' && TOKEN.test(name) && name !== ALL_SECTIONS) return name;

  throw new OptionError(
    path,
    `${show(name)} is no name for a section: headers show it, so letters, digits and !#$%&'*+.^_\`|~- are allowed. ` +
      'Give the section another name.',
  );
}
