import { fileURLToPath } from 'node:url';

/** Where the shop keeps the keys of its clients, and the answers to them. */
export type KeyStoreSettings =
  | { readonly kind: 'postgres'; readonly url: string }
  | { readonly kind: 'redis'; readonly url: string }
  | { readonly kind: 'embedded'; readonly folder: string };

/** What keeps the shop from its keys, in words for whoever starts it. */
export class KeyStoreError extends Error {
  override readonly name = 'KeyStoreError';
}

/** In the folder of this example, whether it is compiled or not, wherever it is started from. */
const DEFAULT_FOLDER = fileURLToPath(new URL('../../.data/keys', import.meta.url));

/**
 * Reads `DATABASE_URL`, `REDIS_URL` and `KEYS_FOLDER`; an empty variable is none.
 *
 * @throws KeyStoreError when they contradict each other, or an address is none.
 */
export function keyStoreSettings(environment: Readonly<Record<string, string | undefined>>): KeyStoreSettings {
  const { DATABASE_URL: databaseUrl = '', REDIS_URL: redisUrl = '', KEYS_FOLDER: folder = '' } = environment;
  const given = Object.entries({ DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, KEYS_FOLDER: folder })
    .filter(([, value]) => value !== '')
    .map(([name]) => name);
  if (given.length > 1) {
    throw new KeyStoreError(`${given.join(' and ')} are set, but keys are kept in one place. Unset all but one.`);
  }

  if (databaseUrl !== '') {
    return { kind: 'postgres', url: addressIn('DATABASE_URL', databaseUrl, ['postgres:', 'postgresql:']) };
  }
  if (redisUrl !== '') return { kind: 'redis', url: addressIn('REDIS_URL', redisUrl, ['redis:', 'rediss:']) };

  return { kind: 'embedded', folder: folder === '' ? DEFAULT_FOLDER : folder };
}

/** What is refused is not repeated: an address may hold a password. */
function addressIn(variable: string, given: string, protocols: readonly string[]): string {
  const protocol = URL.canParse(given) ? new URL(given).protocol : '';
  if (protocols.includes(protocol)) return given;

  throw new KeyStoreError(
    `${variable}: an address that begins with ${protocols[0]}//, such as ${protocols[0]}//localhost.`,
  );
}

/** An address as it may be shown: the server alone. */
export function serverIn(url: string): string {
  return new URL(url).host;
}
