import { spawnSync } from 'node:child_process';
import { afterEach, describe, expect, it } from 'vitest';
import { Campaign } from './campaign.js';
import { Coverage, STATES } from './coverage.js';
import { FAULTS } from './faults.js';
import { partsOf, playSideBySide } from './side-by-side.js';

/** Real processes, which have to start. */
const PATIENCE = { timeout: 120_000 };
const RANGE = { seed: 1, executions: 601 };

let campaign: Campaign | undefined;

afterEach(() => {
  campaign?.close();
  campaign = undefined;
});

describe('Executions in several processes', PATIENCE, () => {
  it('are the same as in one', async () => {
    const told: number[] = [];
    const results = await playSideBySide({ range: RANGE, processes: 3 }, (played) => told.push(played));
    const together = new Coverage();
    for (const { counts } of results) together.addAll(counts);
    campaign = await Campaign.open();
    await campaign.run(RANGE);

    expect(together.counts).toEqual(campaign.coverage.counts);
    expect(STATES.some((state) => together.percentOf(state) > 0)).toBe(true);
    expect(told).toEqual([100, 200, 300, 400, 500, 600]);
  });

  it('end with the first failure that one of them finds, which is the one of its seed', async () => {
    const fault = 'slots-as-counted';
    const many = { seed: 1, executions: 1_000_000_000 };
    const results = await playSideBySide({ range: many, processes: 2, fault }, () => {});
    const failure = results[0]?.failure;
    campaign = await Campaign.open(FAULTS[fault]);
    const again = await campaign.run({ seed: failure?.seed as number, executions: 1 });

    expect(results).toHaveLength(1);
    expect(failure?.violations[0]?.invariant).toBe(fault);
    expect(again?.violations[0]?.invariant).toBe(fault);
  });

  it('end with an error when one of them ends without a result', async () => {
    const killOne = (): void => void spawnSync('pkill', ['-KILL', '-n', '-P', `${process.pid}`, '-f', 'player.js']);
    const many = { range: { seed: 1, executions: 1_000_000_000 }, processes: 2 };

    await expect(playSideBySide(many, killOne)).rejects.toThrow('ended without a result, with SIGKILL');
  });
});

describe('A range', () => {
  it.each([
    [10, 3, [3, 3, 4]],
    [2, 2, [1, 1]],
    [7, 1, [7]],
  ])('of %i executions in %i parts is played whole, one seed after the other', (executions, parts, sizes) => {
    const ranges = partsOf({ seed: 5, executions }, parts);

    expect(ranges.map((range) => range.executions)).toEqual(sizes);
    for (const [at, { seed }] of ranges.entries()) {
      expect(seed).toBe(5 + sizes.slice(0, at).reduce((sum, size) => sum + size, 0));
    }
  });
});
