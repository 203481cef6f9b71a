import { readFileSync } from 'node:fs';
import { afterEach, expect, it, vi } from 'vitest';

afterEach(() => void vi.useRealTimers());

it('the program of the README prints what the README says', async () => {
  const printed: string[] = [];
  vi.spyOn(console, 'log').mockImplementation((...words: unknown[]) => void printed.push(words.join(' ')));
  // The engine comes first: loaded under fake timers, it would take them for the real ones.
  await import('holdfast');
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  await import('./readme-program.js');
  await vi.advanceTimersByTimeAsync(1_000);

  const shown = readFileSync(new URL('shown/readme-program.txt', import.meta.url), 'utf8');
  expect(`${printed.join('\n')}\n`).toBe(shown);
});
