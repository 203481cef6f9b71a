import { describe, expect, it } from 'vitest';
import { explainPort, readSettings, SettingError } from './settings.js';

describe('the settings', () => {
  it('are any free port and our own servers, when nothing is set', () => {
    expect(readSettings({})).toEqual({ port: 0, upstream: undefined });
  });

  it('are what the environment says', () => {
    expect(readSettings({ PORT: '8080', UPSTREAM_URL: 'https://example.org/quotes' })).toEqual({
      port: 8080,
      upstream: new URL('https://example.org/quotes'),
    });
  });

  it.each(['abc', '70000', '-1', '3000.5', ''])('refuse "%s" as a port', (PORT) => {
    expect(() => readSettings({ PORT })).toThrow(
      new SettingError(`PORT: a whole number from 0 to 65535, not "${PORT}".`),
    );
  });

  it.each(['127.0.0.1:8888', 'ftp://127.0.0.1', 'http://', ''])('refuse "%s" as an upstream', (UPSTREAM_URL) => {
    expect(() => readSettings({ UPSTREAM_URL })).toThrow(
      new SettingError(`UPSTREAM_URL: an address such as http://127.0.0.1:8888, not "${UPSTREAM_URL}".`),
    );
  });

  it('say what to do about a port that is taken or not allowed, and nothing about other errors', () => {
    const failure = (code: string): Error => Object.assign(new Error(code), { code });
    const other = failure('EPIPE');

    expect(explainPort(failure('EADDRINUSE'), 80)).toEqual(
      new SettingError('Port 80 is taken. Set PORT to another one, or to 0 for any free port.'),
    );
    expect(explainPort(failure('EACCES'), 80)).toBeInstanceOf(SettingError);
    expect(explainPort(other, 80)).toBe(other);
  });
});
