import { describe, expect, it } from 'vitest';
import { httpIdentity, type HttpTarget } from './request-identity.js';

const of = (url: string, rest: Partial<HttpTarget> = {}): readonly string[] =>
  httpIdentity({ method: 'POST', host: 'shop.example', url, ...rest });

describe('the identity of an HTTP request', () => {
  it('is its method, host, path, query and version', () => {
    expect(
      httpIdentity({ method: 'post', host: 'Shop.example:8443', url: '/orders/7?b=2&a=1#top', version: '2' }),
    ).toEqual(['http', 'POST', 'shop.example:8443', '/orders/7', 'a=1&b=2', '2']);
    expect(httpIdentity({ method: 'PATCH', url: '/' })).toEqual(['http', 'PATCH', '', '/', '', '']);
  });

  it.each<[string, Partial<HttpTarget>]>([
    ['method', { method: 'PUT' }],
    ['host', { host: 'other.example' }],
    ['port', { host: 'shop.example:8080' }],
    ['path', { url: '/orders/8?a=1' }],
    ['case of the path', { url: '/Orders/7?a=1' }],
    ['slash at the end', { url: '/orders/7/?a=1' }],
    ['dot segments', { url: '/orders/./7?a=1' }],
    ['encoded slash', { url: '/orders%2F7?a=1' }],
    ['query', { url: '/orders/7?a=2' }],
    ['missing query', { url: '/orders/7' }],
    ['further parameter', { url: '/orders/7?a=1&b' }],
    ['repeated parameter', { url: '/orders/7?a=1&a=1' }],
    ['version', { version: '2' }],
  ])('is another one with another %s', (_, change) => {
    expect(of('/orders/7?a=1', change)).not.toEqual(of('/orders/7?a=1'));
  });

  it.each<[string, string, string]>([
    ['the order of parameters', '/p?a=1&b=2&c=3', '/p?c=3&a=1&b=2'],
    ['the order of parameters of different names between repeated ones', '/p?a=1&b=0&a=2', '/p?a=1&a=2&b=0'],
    ['the order of the fields of an object', '/p?f[x]=1&f[y]=2', '/p?f[y]=2&f[x]=1'],
    ['an empty query', '/p?', '/p'],
    ['empty parameters', '/p?a=1&&b=2&', '/p?a=1&b=2'],
    ['a fragment', '/p?a=1#x?b=2', '/p?a=1'],
    ['a fragment without a query', '/p#x', '/p'],
    ['the case of percent-encodings', '/p%c3%a4?a=%2f', '/p%C3%A4?a=%2F'],
    ['an encoding where none is needed', '/%70-%7e%5F?%61=%31', '/p-~_?a=1'],
    ['an empty path', 'http://shop.example', '/'],
    ['an empty path before a query', 'http://shop.example?a=1', '/?a=1'],
    ['a target in absolute form', 'http://shop.example/p?a=1', '/p?a=1'],
    ['the case of scheme and host', 'HTTPS://SHOP.example:443/p', '/p'],
    ['user information', 'http://me:secret@shop.example/p', '/p'],
  ])('does not depend on %s', (_, one, other) => {
    expect(of(one)).toEqual(of(other));
  });

  it.each<[string, string, string]>([
    ['of one name', '/p?a=1&a=2', '/p?a=2&a=1'],
    ['of one name, written in two ways', '/p?a=1&%61=2', '/p?%61=2&a=1'],
    ['of one name with a blank', '/p?a+b=1&a%20b=2', '/p?a%20b=2&a+b=1'],
    ['of one list', '/p?a[]=1&a[]=2', '/p?a[]=2&a[]=1'],
    ['of one list of objects', '/p?a[][x]=1&a[][y]=2', '/p?a[][y]=2&a[][x]=1'],
    ['of one list, written in several ways', '/p?a=1&a[]=2&a[0]=3&a%5B%5D=4', '/p?a%5B%5D=4&a[0]=3&a[]=2&a=1'],
  ])('depends on the order of parameters %s', (_, one, other) => {
    expect(of(one)).not.toEqual(of(other));
  });

  it.each([
    ['a plus and an encoded blank', '/p?a=+', '/p?a=%20'],
    ['a parameter without a value and one with an empty value', '/p?a', '/p?a='],
    ['an encoded percent sign and what it would decode to', '/p?a=%2541', '/p?a=A'],
    ['an encoded ampersand and a separator', '/p?a=1%26b=2', '/p?a=1&b=2'],
    ['an encoded question mark and a query', '/p%3Fa=1', '/p?a=1'],
    ['two slashes at the beginning and a host', '//shop.example/p', '/p'],
  ])('tells %s apart', (_, one, other) => {
    expect(of(one)).not.toEqual(of(other));
  });

  it.each(['/%', '/%zz?%=%&%e4%=1&a=%&b=2', '*', '', '?', '/p?&', '/ä?ö=ü', '/a?b?c=d', '/p?=1&=2', 'http://', '///'])(
    'is something for the odd target %j too',
    (url) => {
      expect(of(url)).toHaveLength(6);
    },
  );

  it('takes the host of a target in absolute form before that of the header', () => {
    expect(of('http://a.example/p', { host: 'b.example' })[2]).toBe('a.example');
    expect(of('//a.example/p', { host: 'b.example' })[2]).toBe('b.example');
  });

  it.each([
    ['shop.example:80', 'shop.example'],
    ['shop.example:443', 'shop.example'],
    ['shop.example:', 'shop.example'],
    ['shop.example:4430', 'shop.example:4430'],
    ['[::1]:443', '[::1]'],
    ['[::80]', '[::80]'],
    ['[2001:DB8::1]:3000', '[2001:db8::1]:3000'],
  ])('has %s for the host %s', (host, expected) => {
    expect(of('/', { host })[2]).toBe(expected);
  });
});
