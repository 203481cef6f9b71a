import { hash } from 'node:crypto';
import { canonicalText } from './canonical-text.js';

/** What two calls must have in common to be the same call. */
export interface FingerprintParts {
  readonly scope: string | undefined;
  /** What is called, such as method, host and URL. */
  readonly identity: readonly string[];
  readonly payload: unknown;
}

/**
 * SHA-256, in lower-case hexadecimal, of the scope (`''` where there is none), each part of the identity and the canonical
 * text of the payload. Each part is preceded by its length in UTF-16 code units and a colon, so that no part runs into
 * the next; the whole is hashed as UTF-16LE, in which every string has bytes of its own, also one that is not well-formed.
 */
export function fingerprintOf(parts: FingerprintParts): string {
  const texts = [parts.scope ?? '', ...parts.identity, canonicalText(parts.payload)];
  const whole = texts.map((text) => `${text.length}:${text}`).join('');

  return hash('sha256', Buffer.from(whole, 'utf16le'), 'hex');
}
