/** What became of a text that ought to be an Item of type String (RFC 9651, sections 3.3 and 3.3.3). */
export type StructuredString =
  { readonly kind: 'string'; readonly value: string } | { readonly kind: 'malformed'; readonly problem: string };

const STRING = /"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"/y;
const PARAMETER_NAME = /; *[a-z*][a-z0-9_.*-]*/y;
const DISPLAY_STRING = /%"((?:[\x20\x21\x23\x24\x26-\x7e]|%[0-9a-f]{2})*)"/y;

/** The bare items but the display string, in the order of RFC 9651, section 4.2.3.1; a decimal before the integer it begins with. */
const BARE_ITEMS = [
  /-?\d{1,12}\.\d{1,3}/y,
  /-?\d{1,15}/y,
  STRING,
  /[A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]*/y,
  /:(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?:/y,
  /\?[01]/y,
  /@-?\d{1,15}/y,
];

/**
 * Reads a String with its parameters, by the strict parsing rules of RFC 9651, section 4.2. The parameters are checked,
 * values of every type, and left out. Blanks around the whole are the caller's to remove.
 */
export function parseStructuredString(text: string): StructuredString {
  const string = match(STRING, text, 0);
  if (string === undefined) return malformed('is not a well-formed string in double quotes');

  for (let at = string[0].length; at < text.length;) {
    const name = match(PARAMETER_NAME, text, at);
    if (name === undefined) return malformed('has something behind its closing quote that is not a parameter');

    at += name[0].length;
    if (text[at] !== '=') continue;

    const length = bareItemLength(text, at + 1);
    if (length === 0) return malformed('has a parameter with a malformed value');
    at += 1 + length;
  }

  return { kind: 'string', value: (string[1] as string).replace(/\\(.)/g, '$1') };
}

function bareItemLength(text: string, at: number): number {
  const display = match(DISPLAY_STRING, text, at);
  if (display !== undefined) return isUtf8(display[1] as string) ? display[0].length : 0;

  for (const pattern of BARE_ITEMS) {
    const item = match(pattern, text, at);
    if (item !== undefined) return item[0].length;
  }

  return 0;
}

function isUtf8(percentEncoded: string): boolean {
  try {
    decodeURIComponent(percentEncoded);
    return true;
  } catch {
    return false;
  }
}

function match(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at;

  return pattern.exec(text) ?? undefined;
}

function malformed(problem: string): StructuredString {
  return { kind: 'malformed', problem };
}
