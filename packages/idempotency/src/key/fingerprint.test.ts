import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { fingerprintOf } from './fingerprint.js';
import { httpIdentity } from './request-identity.js';

const SHIPMENT = {
  scope: 'user-1',
  identity: httpIdentity({
    method: 'POST',
    host: 'shop.example',
    url: '/shipping/shipments?express=1&carrier=a',
    version: '2',
  }),
  payload: { orderId: '1001', lines: [{ sku: 'ä', count: 2 }], at: new Date(0), total: 10n, label: Buffer.from('abc') },
};

describe('a fingerprint', () => {
  // Fingerprints are stored: with another one after an update, every key in use would be refused as reused.
  it('is the same in every version', () => {
    expect(fingerprintOf(SHIPMENT)).toBe('61c9c0f2ec419e9b4546b4857bdbad023e2150ff1a47e9d00b7a1d89fe210e77');
    expect(fingerprintOf({ scope: undefined, identity: ['rpc', 'charge'], payload: undefined })).toBe(
      '766227d82fe5ba4df1b84209e6a80f73311896bf31d3406babf58d422ff7cd5e',
    );
  });

  it('is the SHA-256 of all parts, each preceded by its length, in UTF-16LE', () => {
    const text = '2:s14:http4:POST9:{"b":"ä"}';

    expect(fingerprintOf({ scope: 's1', identity: ['http', 'POST'], payload: { b: 'ä' } })).toBe(
      createHash('sha256').update(text, 'utf16le').digest('hex'),
    );
  });

  it('does not depend on the order of names', () => {
    const { label, total, at, lines, orderId } = SHIPMENT.payload;

    expect(fingerprintOf({ ...SHIPMENT, payload: { total, at, orderId, lines, label } })).toBe(fingerprintOf(SHIPMENT));
  });

  it.each([
    ['another scope', { ...SHIPMENT, scope: 'user-2' }],
    ['no scope', { ...SHIPMENT, scope: undefined }],
    ['another identity', { ...SHIPMENT, identity: ['http'] }],
    ['another payload', { ...SHIPMENT, payload: { orderId: '1001' } }],
    ['no payload', { ...SHIPMENT, payload: undefined }],
  ])('is another one with %s', (_, parts) => {
    expect(fingerprintOf(parts)).not.toBe(fingerprintOf(SHIPMENT));
  });

  it('does not let one part run into the next', () => {
    const prints = [
      { scope: 'a', identity: ['b', 'c'], payload: 1 },
      { scope: 'ab', identity: ['', 'c'], payload: 1 },
      { scope: 'a', identity: ['bc', ''], payload: 1 },
      { scope: 'a', identity: ['bc'], payload: 1 },
      { scope: 'a', identity: ['b', 'c', '1'], payload: undefined },
      { scope: 'a1:b', identity: ['c'], payload: 1 },
      { scope: undefined, identity: ['a', 'b', 'c'], payload: 1 },
    ].map(fingerprintOf);

    expect(new Set(prints).size).toBe(prints.length);
  });

  it('tells texts apart that are no valid Unicode', () => {
    const of = (scope: string): string => fingerprintOf({ scope, identity: [], payload: null });

    expect(of('\ud800')).not.toBe(of('\ud801'));
    expect(of('\ud800')).not.toBe(of('\ufffd'));
  });

  it('takes an empty scope for none, as the namespace that all share', () => {
    expect(fingerprintOf({ ...SHIPMENT, scope: '' })).toBe(fingerprintOf({ ...SHIPMENT, scope: undefined }));
  });
});
