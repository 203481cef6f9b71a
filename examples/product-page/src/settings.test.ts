import { describe, expect, it } from 'vitest';
import { readSettings } from './settings.js';

describe('the settings of the page', () => {
  it('have a port, and no services of one’s own', () => {
    expect(readSettings({})).toEqual({ port: 39_300, origins: {} });
    expect(readSettings({ PORT: '0', CATALOG_URL: '' })).toEqual({ port: 0, origins: {} });
  });

  it('take addresses of services, without the slash at their end', () => {
    const environment = { CATALOG_URL: 'http://catalog/', RECOMMENDATIONS_URL: 'https://shop.example/similar/v1' };

    expect(readSettings(environment).origins).toEqual({
      catalog: 'http://catalog',
      recommendations: 'https://shop.example/similar/v1',
    });
  });

  it.each([
    [{ PORT: 'abc' }, 'PORT: a whole number from 0 to 65532, not "abc".'],
    [{ PORT: '65533' }, 'PORT: a whole number from 0 to 65532, not "65533".'],
    [{ PORT: '' }, 'PORT: a whole number from 0 to 65532, not "".'],
    [{ REVIEWS_URL: 'reviews' }, 'REVIEWS_URL: an http or https URL without a query, not "reviews".'],
    [{ REVIEWS_URL: 'ftp://reviews' }, 'REVIEWS_URL: an http or https URL without a query, not "ftp://reviews".'],
    [{ REVIEWS_URL: 'http://a/?b=1' }, 'REVIEWS_URL: an http or https URL without a query, not "http://a/?b=1".'],
  ])('name the variable that is wrong: %j', (environment, message) => {
    expect(() => readSettings(environment)).toThrow(message);
  });
});
