import type { JSONWebKeySet } from 'jose';
import { ORIGIN_RESERVE_MS, TOTAL_BUDGET_MS } from './policy.js';

export interface Settings {
  /** Says whether a session was revoked. */
  readonly revocationsUrl: URL;
  /** Evaluates the feature flags. */
  readonly flagsUrl: URL;
  /** The public keys of whoever signs tokens. */
  readonly keys: JSONWebKeySet;
  /** What tokens have to say about who made them, and for whom; anything when absent. */
  readonly issuer?: string | undefined;
  readonly audience?: string | undefined;
  readonly budgetMs: number;
  readonly reserveMs: number;
}

/** A setting that cannot be used; the message says which, and why. */
export class SettingError extends Error {
  override readonly name = 'SettingError';
}

/** Each runtime keeps its variables somewhere else. */
export type ReadVariable = (name: string) => string | undefined;

/** @throws SettingError */
export function readSettings(read: ReadVariable): Settings {
  const budgetMs = milliseconds(read, 'BUDGET_MS', TOTAL_BUDGET_MS);
  const reserveMs = milliseconds(read, 'RESERVE_MS', ORIGIN_RESERVE_MS);
  if (reserveMs >= budgetMs) {
    throw new SettingError(`RESERVE_MS: ${reserveMs} leaves nothing of a BUDGET_MS of ${budgetMs}.`);
  }

  return {
    revocationsUrl: endpoint(read, 'AUTH_URL', { base: 'https://auth.internal.example.com', path: '/revocations' }),
    flagsUrl: endpoint(read, 'FLAGS_URL', { base: 'https://flags.internal.example.com', path: '/v1/evaluate' }),
    keys: readKeys(read('TOKEN_KEYS')),
    issuer: read('TOKEN_ISSUER'),
    audience: read('TOKEN_AUDIENCE'),
    budgetMs,
    reserveMs,
  };
}

/** @throws SettingError */
export function readAddress(name: string, given: string): URL {
  if (/^https?:/i.test(given) && URL.canParse(given)) return new URL(given);

  throw new SettingError(`${name}: an address such as http://127.0.0.1:8888, not "${given}".`);
}

function endpoint(read: ReadVariable, name: string, { base, path }: { base: string; path: string }): URL {
  const url = readAddress(name, read(name) ?? base);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}${path}`;

  return url;
}

function milliseconds(read: ReadVariable, name: string, otherwise: number): number {
  const given = read(name) ?? `${otherwise}`;
  if (/^[1-9]\d{0,5}$/.test(given)) return Number(given);

  throw new SettingError(`${name}: whole milliseconds from 1 to 999999, not "${given}".`);
}

/** Without a key nobody could be let in, so this is told before the first request rather than by a 401 to each. */
function readKeys(given: string | undefined): JSONWebKeySet {
  const remedy = 'Give a JSON Web Key Set with the public keys: {"keys":[{"kty":"EC","kid":"2026-11",…}]}.';
  if (given === undefined) throw new SettingError(`TOKEN_KEYS: is missing. ${remedy}`);

  const parsed = parse(given) as Partial<JSONWebKeySet> | null | undefined;
  if (!Array.isArray(parsed?.keys) || parsed.keys.length === 0 || !parsed.keys.every(isObject)) {
    throw new SettingError(`TOKEN_KEYS: holds no keys. ${remedy}`);
  }
  // A key that signs has no business at the edge, where everything that was deployed can be read.
  if (parsed.keys.some((key) => Object.hasOwn(key, 'd') || Object.hasOwn(key, 'k'))) {
    throw new SettingError(`TOKEN_KEYS: holds a private or a shared key. ${remedy}`);
  }

  return parsed as JSONWebKeySet;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}
