import { describe, expect, it } from 'vitest';
import { explainPort, readSettings, SettingError } from './settings.js';

describe('the settings', () => {
  it('are port 39200 and no service, when nothing is set', () => {
    expect(readSettings({})).toEqual({ port: 39200, origins: {} });
  });

  it('are what the environment says', () => {
    const environment = { PORT: '0', USER_URL: 'http://127.0.0.1:39201', COUPON_URL: 'https://example.org/coupons/' };

    expect(readSettings(environment)).toEqual({
      port: 0,
      origins: { user: 'http://127.0.0.1:39201/', coupon: 'https://example.org/coupons/' },
    });
  });

  it.each(['abc', '70000', '-1', '3000.5', ''])('refuse "%s" as a port', (PORT) => {
    expect(() => readSettings({ PORT })).toThrow(
      new SettingError(`PORT: a whole number from 0 to 65535, not "${PORT}".`),
    );
  });

  it.each([
    '127.0.0.1:39201',
    'ftp://127.0.0.1',
    'http://',
    '',
    'http://me:secret@127.0.0.1',
    'http://127.0.0.1/?tenant=1',
    'http://127.0.0.1/#top',
  ])('refuse "%s" as the address of a service', (ORDER_URL) => {
    expect(() => readSettings({ ORDER_URL })).toThrow(
      new SettingError(`ORDER_URL: an address such as http://127.0.0.1:39201, not "${ORDER_URL}".`),
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
