import { fanOut, required, type PartialResponse } from '../index.js';
import { beforeAll, describe, expect, it } from 'vitest';
import { partialIn } from './partial-answer.js';

let page: PartialResponse<{ product: number }>;

beforeAll(async () => {
  page = await fanOut({ product: required(() => 1, { timeout: '1s' }) });
});

const refuse = (): never => {
  throw new Error('not to be looked at');
};

describe('the partial response in an answer', () => {
  it('is the answer itself, whatever its body is', () => {
    expect(partialIn(page)).toBe(page);
    const mapped = page.map(() => 'text');
    expect(partialIn(mapped)).toBe(mapped);
  });

  it('may stand in an envelope', () => {
    expect(partialIn({ status: 'ok', data: page })).toBe(page);
    expect(partialIn(Object.assign(Object.create(null) as object, { data: page }))).toBe(page);
  });

  it.each([
    ['two envelopes deep', () => ({ data: { data: page } })],
    ['in a list', () => [page]],
    ['in an object of some class', () => Object.assign(new Date(0), { data: page })],
    ['what it is made of', () => Object.assign({}, page)],
    ['its body', () => page.toJSON()],
  ])('is not looked for further: %s', (_case, answer) => {
    expect(partialIn(answer())).toBeUndefined();
  });

  it.each([
    undefined,
    null,
    0,
    'page',
    true,
    {},
    new Proxy({}, { get: refuse, ownKeys: refuse, getPrototypeOf: refuse }),
    Object.defineProperty({}, 'data', { get: refuse, enumerable: true }),
  ])('is not there otherwise (%#)', (answer) => {
    expect(partialIn(answer)).toBeUndefined();
  });
});
