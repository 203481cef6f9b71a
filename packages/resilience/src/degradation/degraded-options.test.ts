import { afterEach, describe, expect, it } from 'vitest';
import { boot, closeAll } from '../../test/boot.js';
import { readDegraded, type DegradedOptions } from './degraded-options.js';

afterEach(closeAll);

describe('the option degraded', () => {
  it('has defaults for all that is left open', () => {
    const defaults = { header: 'X-Degraded', cacheControl: 'no-store', serverTiming: false };

    expect(readDegraded()).toEqual(defaults);
    expect(readDegraded({})).toEqual(defaults);
    expect(readDegraded({ header: 'X-Missing' })).toEqual({ ...defaults, header: 'X-Missing' });
  });

  it.each([
    [{ degraded: 'no-store' }, 'degraded: expected an options object, got a string.'],
    [{ degraded: { cache: 'no-store' } }, 'degraded.cache: unknown option.'],
    [{ degraded: { header: '' } }, 'degraded.header: expected a name, a string that is not empty, got "".'],
    [{ degraded: { header: 'X Degraded' } }, 'degraded.header: Header name must be a valid HTTP token ["X Degraded"].'],
    [{ degraded: { header: 'ETag' } }, 'degraded.header: "ETag" means something else in an answer.'],
    [{ degraded: { header: 'cache-control' } }, 'degraded.header: "cache-control" means something else in an answer.'],
    [
      { degraded: { header: 'CDN-Cache-Control' } },
      'degraded.header: "CDN-Cache-Control" means something else in an answer.',
    ],
    [{ degraded: { cacheControl: 0 } }, 'degraded.cacheControl: expected a name, a string that is not empty, got 0.'],
    [
      { degraded: { cacheControl: 'no-store\r\nX-Other: 1' } },
      'degraded.cacheControl: Invalid character in header content ["Cache-Control"].',
    ],
    [{ degraded: { serverTiming: 'yes' } }, 'degraded.serverTiming: expected true or false, got "yes".'],
  ])('fails the boot when it is wrong: %j', async (options, message) => {
    const { error, listening } = await boot({ options: options as unknown as { degraded: DegradedOptions } });

    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toContain(message);
    expect(listening).toBe(false);
  });
});
