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

it('What costs the same for any length counts nothing', async () => {
  const list = [...thousand];

  expect(await elementSteps(async () => void list.push(1))).toBe(0);
  expect(await elementSteps(async () => void new Set(list).delete(3))).toBe(0);
});

it('Arrays are as they were afterwards, also when something throws', async () => {
  const names = Object.getOwnPropertyNames(Array.prototype);
  const before = names.map((name) => Object.getOwnPropertyDescriptor(Array.prototype, name));
  const failing = elementSteps(() => Promise.reject(new Error('down')));

  await expect(failing).rejects.toThrow('down');
  expect(names.map((name) => Object.getOwnPropertyDescriptor(Array.prototype, name))).toEqual(before);
});
