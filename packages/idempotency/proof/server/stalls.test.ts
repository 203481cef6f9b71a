import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { stallsIn, type Stall } from '../evidence.js';
import { moment, type Span } from '../moment.js';
import { stallsOf, type Life } from '../server-process.js';
import type { Outage } from '../store/outages.js';
import { Stalls } from './stalls.js';

const LOCK_TTL = 900;
const NOT_YET = 300;

let folder: string;
let stalls: Stalls;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'stalls-'));
  stalls = new Stalls(join(folder, stallsOf({ name: 'a.1' })), LOCK_TTL);
  vi.useFakeTimers({ toFake: ['hrtime', 'setTimeout', 'setInterval'] });
});

afterEach(() => {
  vi.useRealTimers();
  rmSync(folder, { recursive: true });
});

function found({ frozen = [], outages = [] }: { frozen?: Span[]; outages?: Outage[] } = {}): readonly Stall[] {
  const life: Life = { name: 'a.1', killedAt: undefined, frozen, hasCrashed: false };

  return stallsIn(folder, [life], outages);
}

async function ask(ms: number, error?: Error): Promise<unknown> {
  const asked = stalls.around(async () => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    if (error !== undefined) throw error;
    return 'answer';
  });
  const settled = asked.catch((thrown: unknown) => thrown);
  await vi.advanceTimersByTimeAsync(ms);

  return await settled;
}

describe('A stall', () => {
  it('is a call of the store for which a third of a lock’s time is too short, whatever comes of it', async () => {
    const error = new Error('down');
    expect([await ask(NOT_YET), found()]).toEqual(['answer', []]);
    const from = moment();
    expect([await ask(NOT_YET + 1), await ask(NOT_YET + 1, error)]).toEqual(['answer', error]);

    expect(found()).toEqual([
      { life: 'a.1', from, to: from + NOT_YET + 1 },
      { life: 'a.1', from: from + NOT_YET + 1, to: from + 2 * NOT_YET + 2 },
    ]);
  });

  it('is an event loop that stands still', async () => {
    vi.useRealTimers();
    const end = stalls.watch();
    const until = moment() + NOT_YET + 100;
    while (moment() < until);
    await pause(100);
    end();

    expect(found()).not.toEqual([]);
  });

  it('is none that was planned', async () => {
    const from = moment();
    await ask(NOT_YET + 1);
    const span = { from, to: moment() };

    expect(found({ frozen: [span] })).toEqual([]);
    expect(found({ outages: [{ kind: 'slow', ...span }] })).toEqual([]);
    expect(found()).toHaveLength(1);
  });
});
