import { kindOf, OptionError } from 'holdfast/binding';
import type { IdempotencyStoredPayload, IdempotencyStoredResponse } from '../store.js';
import { Sealer } from './seal.js';
import { readResponse } from './stored-response.js';
import { UnreadableRecordError } from './unreadable-record.js';

export { UnreadableRecordError, type UnreadableReason } from './unreadable-record.js';

/** How answers are kept from those who read the store. */
export interface RecordEncryption {
  /**
   * The first seals, all of them open. A `Buffer` of 32 bytes is a key; of a text of at least 32 characters one is derived,
   * so it must be as random as a key.
   */
  readonly keys: readonly (string | Buffer)[];
}

/** Between an answer and what a store keeps of it. */
export interface RecordCodec {
  /**
   * @param recordKey Under which it will be kept.
   * @throws TypeError for a response that `read()` would refuse: a record that nobody can read blocks its key.
   */
  write(recordKey: string, response: IdempotencyStoredResponse): IdempotencyStoredPayload;

  /**
   * A copy of the answer, its body as it was encoded.
   *
   * @param recordKey Under which it was found.
   * @throws UnreadableRecordError when it is not one, or not one of this key.
   */
  read(recordKey: string, payload: unknown): IdempotencyStoredResponse;
}

/**
 * @param path Of the options, for messages.
 * @throws TypeError for keys that are no keys.
 */
export function createRecordCodec(encryption?: RecordEncryption, path = 'encryption'): RecordCodec {
  if (encryption === undefined) return PLAIN;

  return new SealedCodec(new Sealer(keysIn(encryption, path), `${path}.keys`));
}

/** Messages about other options show what was given: here that may be a key in the wrong place. */
function keysIn(encryption: unknown, path: string): unknown {
  if (typeof encryption !== 'object' || encryption === null || Array.isArray(encryption)) {
    throw new OptionError(path, `expected { keys: [...] }, got ${kindOf(encryption)}. Leave it out to store in clear.`);
  }
  const unknown = Object.keys(encryption).find((name) => name !== 'keys');
  if (unknown !== undefined) throw new OptionError(`${path}.${unknown}`, 'unknown option. The only one is keys.');

  return (encryption as { readonly keys?: unknown }).keys;
}

const PLAIN: RecordCodec = {
  write: (_recordKey, response) => checked(response),
  read: (_recordKey, payload) =>
    guarded(() => {
      if (sealOf(payload) !== undefined) {
        throw new UnreadableRecordError('sealed', 'is sealed, and no encryption is configured');
      }

      return readResponse(payload);
    }),
};

class SealedCodec implements RecordCodec {
  constructor(private readonly sealer: Sealer) {}

  write(recordKey: string, response: IdempotencyStoredResponse): IdempotencyStoredPayload {
    return { sealed: this.sealer.seal(recordKey, JSON.stringify(checked(response))) };
  }

  read(recordKey: string, payload: unknown): IdempotencyStoredResponse {
    return guarded(() => {
      const seal = sealOf(payload);
      if (seal === undefined) {
        readResponse(payload);
        throw new UnreadableRecordError('plain', 'is not sealed, and encryption is configured');
      }

      return readResponse(JSON.parse(this.sealer.open(recordKey, seal)));
    });
  }
}

/** The text of a sealed payload; `undefined` for any other payload. */
function sealOf(payload: unknown): string | undefined {
  if (typeof payload !== 'object' || payload === null || !Object.hasOwn(payload, 'sealed')) return undefined;

  const { sealed } = payload as { readonly sealed: unknown };
  if (typeof sealed === 'string' && Object.keys(payload).length === 1) return sealed;

  throw new UnreadableRecordError('malformed', 'has a malformed seal');
}

function checked(response: IdempotencyStoredResponse): IdempotencyStoredResponse {
  try {
    return readResponse(response);
  } catch (error) {
    throw new TypeError(`Not a response that could be replayed: ${(error as Error).message}`, { cause: error });
  }
}

/** Whatever a store answers, and whatever happens to who looks at it, the caller gets one kind of error. */
function guarded(read: () => IdempotencyStoredResponse): IdempotencyStoredResponse {
  try {
    return read();
  } catch (error) {
    if (error instanceof UnreadableRecordError) throw error;
    throw new UnreadableRecordError('malformed', 'could not be read', { cause: error });
  }
}
