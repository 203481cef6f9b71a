import { parseStructuredString } from './structured-string.js';

/** What was found where a key is looked for. `problem` is the end of a sentence that begins with "The key". */
export type KeyReading =
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'missing' }
  | { readonly kind: 'invalid'; readonly problem: string };

const MAX_LENGTH = 255;

/** More than a key can have with all of its characters escaped and many parameters: what is longer is not even read. */
const MAX_TEXT_LENGTH = 4_096;

const MISSING: KeyReading = { kind: 'missing' };
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;

/**
 * Reads a key out of a payload, an argument, or what an application's own function found: a text, a finite number or a
 * bigint, of a list its first element. Blanks around it do not count; what is left must be 1 to 255 characters of
 * printable ASCII.
 *
 * A text that begins with a double quote is a String of RFC 9651, the form that the IETF draft for the header asks for;
 * it is decoded and its parameters are ignored, so that `"a"`, `"a";v=1` and `a` are the same key. Any other text is the
 * key itself, commas, quotes and semicolons included: a header is read by {@link headerKey}, which is stricter.
 *
 * `undefined`, `null`, and what is empty or blank, also within its quotes, is no key. An integer above 2^53 - 1 is
 * refused: it was rounded when the message was parsed, and two keys may have become one.
 */
export function readKey(value: unknown): KeyReading {
  const first: unknown = Array.isArray(value) ? value[0] : value;
  if (first === undefined || first === null) return MISSING;
  if (typeof first === 'string') return readText(first.trim());
  if (typeof first === 'bigint') return checkKey(String(first));
  if (typeof first !== 'number' || !Number.isFinite(first)) return invalid('must be a text or a finite number');
  if (Number.isInteger(first) && !Number.isSafeInteger(first)) {
    return invalid('is a number with more digits than JSON numbers keep: send it as a text');
  }

  return checkKey(String(first));
}

/**
 * Reads the key of a header of which these are the lines, each as it was received. Several lines are refused, equal ones
 * too: nothing tells which of them is the key, and a client that means one sends one.
 *
 * The field is an Item of RFC 9651, thus never a list. Outside of quotes a comma is what a proxy or a server puts between
 * lines that it joins (RFC 9110, section 5.3): a bare key with a comma is refused as several, and one with a double quote
 * as malformed. Within quotes both are part of the key (`"a, b"`, `"a\"b"`); between two quoted strings a comma is the
 * garbage that the RFC says it is. Everything else goes as in {@link readKey}.
 */
export function headerKey(values: readonly string[] | undefined): KeyReading {
  if (values === undefined || values.length === 0) return MISSING;
  if (values.length > 1) return invalid('was sent more than once');

  const text = (values[0] as string).trim();
  if (text.startsWith('"')) return readText(text);
  if (text.includes(',')) return invalid('was sent more than once, or has a comma and is not in double quotes');
  if (text.includes('"')) return invalid('has a double quote inside and is not in double quotes itself');

  return readText(text);
}

function readText(text: string): KeyReading {
  if (text.length > MAX_TEXT_LENGTH) return tooLong();
  if (!text.startsWith('"')) return checkKey(text);

  const string = parseStructuredString(text);

  return string.kind === 'string' ? checkKey(string.value) : invalid(string.problem);
}

function checkKey(key: string): KeyReading {
  if (key.trim() === '') return MISSING;
  if (key.length > MAX_LENGTH) return tooLong();
  if (!PRINTABLE_ASCII.test(key)) return invalid('has characters other than printable ASCII');

  return { kind: 'key', key };
}

function tooLong(): KeyReading {
  return invalid(`is longer than ${MAX_LENGTH} characters`);
}

function invalid(problem: string): KeyReading {
  return { kind: 'invalid', problem };
}
