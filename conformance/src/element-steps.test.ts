import { expect, it } from 'vitest';
import { elementSteps } from './element-steps.js';

const thousand = Array.from({ length: 1_000 }, (_, at) => at);

it('A search counts the whole list, and a removal what moves up', async () => {
  const list = [...thousand];

  expect(await elementSteps(async () => void list.indexOf(3))).toBe(1_000);
  expect(await elementSteps(async () => void list.filter((at) => at > 3))).toBe(1_000);
  expect(await elementSteps(async () => void list.toSorted())).toBe(1_000);
  expect(await elementSteps(async () => void list.splice(990, 1))).toBe(10);
  expect(list).toHaveLength(999);
});

it('A set or a map counts as far as somebody goes through it', async () => {
  const set = new Set(thousand);
  const map = new Map(thousand.map((at) => [at, at]));

  expect(await elementSteps(async () => void Array.from(set))).toBe(1_001);
  expect(await elementSteps(async () => void [...map.keys()])).toBe(1_001);
  expect(await elementSteps(async () => map.forEach(() => {}))).toBe(1_000);
  const untilThird = async (): Promise<void> => {
    for (const at of set) if (at === 2) break;
  };
  expect(await elementSteps(untilThird)).toBe(3);
  expect(await elementSteps(async () => void set.values().next())).toBe(1);
});

it('What costs the same for any length counts nothing', async () => {
  const list = [...thousand];

  expect(await elementSteps(async () => void list.push(1))).toBe(0);
  const set = new Set(list);
  expect(await elementSteps(async () => void set.delete(3))).toBe(0);
});

it('Arrays, sets and maps are as they were afterwards, also when something throws', async () => {
  const descriptors = (): unknown[] =>
    [Array, Set, Map].flatMap(({ prototype }) =>
      Reflect.ownKeys(prototype).map((key) => Object.getOwnPropertyDescriptor(prototype, key)),
    );
  const before = descriptors();
  const failing = elementSteps(() => Promise.reject(new Error('down')));

  await expect(failing).rejects.toThrow('down');
  expect(descriptors()).toEqual(before);
});
