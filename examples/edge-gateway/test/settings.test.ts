import { describe, expect, it } from 'vitest';
import { STEPS } from '../lib/policy.js';
import { readSettings } from '../lib/settings.js';

const KEY = { kty: 'EC', kid: '1', crv: 'P-256', x: 'x', y: 'y' };
const TOKEN_KEYS = JSON.stringify({ keys: [KEY] });
const reading = (variables: Readonly<Record<string, string>>) => () =>
  readSettings((name) => ({ TOKEN_KEYS, ...variables })[name]);

describe('settings', () => {
  it('are those of the handler’s own services, with 1,500 ms of which 800 are the origin’s', () => {
    expect(reading({})()).toMatchObject({
      revocationsUrl: new URL('https://auth.internal.example.com/revocations'),
      flagsUrl: new URL('https://flags.internal.example.com/v1/evaluate'),
      budgetMs: 1_500,
      reserveMs: 800,
    });
  });

  it('put the paths of services behind those of their addresses', () => {
    const { revocationsUrl, flagsUrl } = reading({ AUTH_URL: 'http://10.0.0.1/auth/', FLAGS_URL: 'http://10.0.0.2' })();

    expect([revocationsUrl.href, flagsUrl.href]).toEqual([
      'http://10.0.0.1/auth/revocations',
      'http://10.0.0.2/v1/evaluate',
    ]);
  });

  it.each([
    [{ AUTH_URL: 'auth' }, 'AUTH_URL: an address such as http://127.0.0.1:8888, not "auth".'],
    [{ FLAGS_URL: 'ftp://flags' }, 'FLAGS_URL: an address such as http://127.0.0.1:8888, not "ftp://flags".'],
    [{ BUDGET_MS: '0' }, 'BUDGET_MS: whole milliseconds from 1 to 999999, not "0".'],
    [{ RESERVE_MS: '1.5s' }, 'RESERVE_MS: whole milliseconds from 1 to 999999, not "1.5s".'],
    [{ RESERVE_MS: '1500' }, 'RESERVE_MS: 1500 leaves nothing of a BUDGET_MS of 1500.'],
    [{ TOKEN_KEYS: '' }, 'TOKEN_KEYS: holds no keys.'],
    [{ TOKEN_KEYS: '{"keys":[]}' }, 'TOKEN_KEYS: holds no keys.'],
    [{ TOKEN_KEYS: 'null' }, 'TOKEN_KEYS: holds no keys.'],
    [{ TOKEN_KEYS: JSON.stringify({ keys: [{ ...KEY, d: 'd' }] }) }, 'TOKEN_KEYS: holds a private or a shared key.'],
    [{ TOKEN_KEYS: '{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}' }, 'TOKEN_KEYS: holds a private or a shared key.'],
    [{ TOKEN_KEYS: '{"keys":[7]}' }, 'TOKEN_KEYS: holds no keys.'],
  ])('are refused by name: %o', (variables, message) => {
    expect(reading(variables)).toThrow(message);
  });

  it('must hold keys', () => {
    expect(() => readSettings(() => undefined)).toThrow('TOKEN_KEYS: is missing. Give a JSON Web Key Set');
  });
});

describe('the steps', () => {
  it('are declared as data, each of them open or closed', () => {
    expect(Object.values(STEPS)).toEqual([
      { name: 'revocation', onFailure: 'closed', timeout: 200 },
      { name: 'flags', onFailure: 'open', fallback: {}, timeout: 250 },
      { name: 'geo', onFailure: 'open', fallback: null, timeout: 120 },
    ]);
  });
});
