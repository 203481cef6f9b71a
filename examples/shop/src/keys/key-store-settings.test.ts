import { isAbsolute } from 'node:path';
import { describe, expect, it } from 'vitest';
import { keyStoreSettings, serverIn } from './key-store-settings.js';

describe('Where keys are kept', () => {
  it('is a folder of the example, unless something else is said; an empty variable says nothing', () => {
    const settings = keyStoreSettings({ DATABASE_URL: '', REDIS_URL: '', KEYS_FOLDER: '' });

    expect(settings).toEqual(keyStoreSettings({}));
    expect(settings).toEqual({
      kind: 'embedded',
      folder: expect.stringMatching(/examples.shop..data.keys$/) as string,
    });
    expect(isAbsolute((settings as { folder: string }).folder)).toBe(true);
  });

  it.each([
    [{ KEYS_FOLDER: './keys' }, { kind: 'embedded', folder: './keys' }],
    [{ DATABASE_URL: 'postgres://localhost/shop' }, { kind: 'postgres', url: 'postgres://localhost/shop' }],
    [{ DATABASE_URL: 'postgresql://localhost/shop' }, { kind: 'postgres', url: 'postgresql://localhost/shop' }],
    [{ REDIS_URL: 'redis://localhost' }, { kind: 'redis', url: 'redis://localhost' }],
    [{ REDIS_URL: 'rediss://localhost:6380/1' }, { kind: 'redis', url: 'rediss://localhost:6380/1' }],
  ])('is as %j says', (environment, settings) => {
    expect(keyStoreSettings(environment)).toEqual(settings);
  });

  it.each([
    [{ DATABASE_URL: 'postgres://localhost', REDIS_URL: 'redis://localhost' }, 'DATABASE_URL and REDIS_URL'],
    [{ DATABASE_URL: 'postgres://localhost', KEYS_FOLDER: './keys' }, 'DATABASE_URL and KEYS_FOLDER'],
    [{ REDIS_URL: 'redis://localhost', KEYS_FOLDER: './keys' }, 'REDIS_URL and KEYS_FOLDER'],
  ])('is one place: %j is refused', (environment, named) => {
    expect(() => keyStoreSettings(environment)).toThrow(`${named} are set, but keys are kept in one place.`);
  });

  it.each([
    [{ DATABASE_URL: 'mysql://user:secret@host/shop' }, 'DATABASE_URL: an address that begins with postgres://'],
    [{ DATABASE_URL: 'secret' }, 'DATABASE_URL: an address that begins with postgres://'],
    [{ REDIS_URL: 'http://user:secret@host' }, 'REDIS_URL: an address that begins with redis://'],
  ])('is an address of its kind: %j is refused, and not repeated', (environment, problem) => {
    expect(() => keyStoreSettings(environment)).toThrow(problem);
    expect(() => keyStoreSettings(environment)).not.toThrow('secret');
  });

  it('is shown without user and password', () => {
    expect(serverIn('postgres://user:secret@db.example:6543/shop')).toBe('db.example:6543');
  });
});
