import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createSecretKey,
  hkdfSync,
  randomBytes,
  type KeyObject,
} from 'node:crypto';
import { types } from 'node:util';
import { kindOf, OptionError } from 'holdfast/binding';
import { UnreadableRecordError } from './unreadable-record.js';

const ALGORITHM = 'aes-256-gcm';
const VERSION = 'v1';
const KEY_LENGTH = 32;
const IV_LENGTH = 12;
const TAG_LENGTH = 16;
const KEY_ID_LENGTH = 8;
const KEY_INFO = 'nestjs-idempotency:v1';

/**
 * Seals texts with AES-256-GCM, each for one record: moved to another, it does not open. The first key seals, all of
 * them open.
 *
 * The initialisation vectors are random, 96 bits long: NIST SP 800-38D, section 8.3, allows 2^32 seals with one key.
 */
export class Sealer {
  private readonly keys = new Map<string, KeyObject>();
  private readonly sealingId: string;

  /**
   * @param keys Buffers of 32 bytes, or texts of at least 32 characters, of which keys are derived.
   * @param path Of the option, for messages: `encryption.keys`.
   * @throws TypeError naming the key, as in `encryption.keys[1]`, and never showing it.
   */
  constructor(keys: unknown, path: string) {
    if (!Array.isArray(keys)) throw new OptionError(path, `expected a list of keys, got ${kindOf(keys)}.`);
    if (keys.length === 0) throw new OptionError(path, 'is empty. Give at least one key, or leave encryption out.');

    const derived = Array.from(keys as unknown[], (key, index) => deriveKey(key, `${path}[${index}]`));
    for (const key of derived) this.keys.set(keyId(key), createSecretKey(key));
    this.sealingId = keyId(derived[0] as Buffer);
  }

  /** @returns `v1.<key id>.<iv>.<ciphertext>.<tag>`, the last three in base64url. */
  seal(recordKey: string, text: string): string {
    const iv = randomBytes(IV_LENGTH);
    const cipher = createCipheriv(ALGORITHM, this.keys.get(this.sealingId) as KeyObject, iv, {
      authTagLength: TAG_LENGTH,
    });
    cipher.setAAD(Buffer.from(recordKey, 'utf8'));
    const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    const segments = [iv, ciphertext, cipher.getAuthTag()].map((bytes) => bytes.toString('base64url'));

    return [VERSION, this.sealingId, ...segments].join('.');
  }

  /** @throws UnreadableRecordError when it is not a seal of this record, made with one of the keys. */
  open(recordKey: string, sealed: string): string {
    const { id, iv, ciphertext, tag } = parseSeal(sealed);
    const key = this.keys.get(id);
    if (key === undefined) {
      throw new UnreadableRecordError(
        'unknown-key',
        `is sealed with the key "${id}", which is not among encryption.keys`,
      );
    }

    const decipher = createDecipheriv(ALGORITHM, key, iv, { authTagLength: TAG_LENGTH });
    decipher.setAAD(Buffer.from(recordKey, 'utf8'));
    decipher.setAuthTag(tag);
    try {
      return Buffer.concat([decipher.update(ciphertext), decipher.final()]).toString('utf8');
    } catch (error) {
      throw new UnreadableRecordError('tampered', 'was altered, or copied from another key', { cause: error });
    }
  }
}

interface Seal {
  readonly id: string;
  readonly iv: Buffer;
  readonly ciphertext: Buffer;
  readonly tag: Buffer;
}

function parseSeal(sealed: string): Seal {
  const segments = sealed.split('.');
  if (/^v\d+$/.test(segments[0] as string) && segments[0] !== VERSION) {
    throw new UnreadableRecordError('unknown-version', `has a seal of the unknown version "${segments[0]}"`);
  }
  if (segments[0] !== VERSION || segments.length !== 5) throw malformedSeal();

  const [, id, ...rest] = segments as [string, string, string, string, string];
  const [iv, ciphertext, tag] = rest.map(fromBase64url) as [Buffer, Buffer, Buffer];
  if (!/^[\w-]{8}$/.test(id) || iv.length !== IV_LENGTH || tag.length !== TAG_LENGTH) throw malformedSeal();

  return { id, iv, ciphertext, tag };
}

/** `Buffer.from()` skips what is no base64url: another text that stands for the same bytes was not written by us. */
function fromBase64url(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.toString('base64url') !== text) throw malformedSeal();

  return bytes;
}

function malformedSeal(): UnreadableRecordError {
  return new UnreadableRecordError('malformed', 'has a malformed seal');
}

/** A text may be anything random, in any alphabet; HKDF (RFC 5869) makes 32 even bytes of it. */
function deriveKey(key: unknown, path: string): Buffer {
  if (typeof key === 'string') {
    if (key !== key.trim()) {
      throw new OptionError(path, 'begins or ends with a blank, probably by mistake. Remove it.');
    }
    if (key.length < KEY_LENGTH) {
      throw new OptionError(
        path,
        `is a string of ${key.length} characters, at least ${KEY_LENGTH} are needed. ${REMEDY}`,
      );
    }

    return Buffer.from(hkdfSync('sha256', key, '', KEY_INFO, KEY_LENGTH));
  }
  if (!types.isUint8Array(key)) {
    throw new OptionError(path, `expected a string or a Buffer, got ${kindOf(key)}. ${REMEDY}`);
  }
  if (key.length !== KEY_LENGTH) {
    throw new OptionError(path, `is a Buffer of ${key.length} bytes, exactly ${KEY_LENGTH} are needed. ${REMEDY}`);
  }

  return Buffer.from(key);
}

const REMEDY = 'Make one with: openssl rand -base64 32';

function keyId(key: Buffer): string {
  return createHash('sha256').update(key).digest('base64url').slice(0, KEY_ID_LENGTH);
}
