import { afterEach, describe, expect, it } from 'vitest';
import { Campaign } from './campaign.js';
import { LEAST_PERCENT, STATES } from './coverage.js';
import type { Engine } from './engine.js';
import { FAULTS, PLAIN_FAULTS } from './faults.js';
import { scenarioOf } from './generate.js';
import { INVARIANTS, type InvariantId } from './invariants.js';
import type { CallStep, Work } from './scenario.js';
import { storyOf } from './story.js';

/** Real time, for what is a matter of seconds on a machine of its own. */
const PATIENCE = { timeout: 600_000 };
const EXECUTIONS = 20_000;
/** Within so many a planted fault is found. */
const SOON = 1_500;

const call = (work: Partial<Work> & Pick<Work, 'does'>): CallStep => ({
  kind: 'call',
  stack: 0,
  signal: undefined,
  budget: undefined,
  detached: false,
  ambient: true,
  works: [{ after: 0, byTimer: true, error: 'down', asks: 'never', ...work }],
});
const starting = (after: number, starts: CallStep): CallStep => call({ does: 'start', after, starts, waits: true });

let campaign: Campaign | undefined;

afterEach(() => {
  campaign?.close();
  campaign = undefined;
});

describe('The engine, in random executions', PATIENCE, () => {
  it('keeps each of its rules after every step, and every state is reached', async () => {
    campaign = await Campaign.open();
    const failure = await campaign.run({ seed: 1, executions: EXECUTIONS });
    const { coverage } = campaign;

    expect(failure === undefined ? '' : storyOf(await campaign.shrink(failure))).toBe('');
    expect(
      STATES.filter((state) => coverage.percentOf(state) < LEAST_PERCENT),
      coverage.lines.join('\n'),
    ).toEqual([]);
  });
});

describe('A model that cannot know what outcomes count for', PATIENCE, () => {
  it('follows both ways for each of many that come at once, of which most make no difference', async () => {
    campaign = await Campaign.open();
    const { violations, reached } = await campaign.play({
      ties: 0,
      policies: [
        { kind: 'timeout', ms: 25, as: 'number' },
        {
          kind: 'retry',
          attempts: 2,
          delay: 25,
          factor: 2,
          asFunction: true,
          retryIf: 'default',
          onResult: undefined,
        },
        {
          kind: 'breaker',
          threshold: 100,
          minimumCalls: 1,
          window: { type: 'count', size: 5 },
          openMs: 6,
          probes: 3,
          lease: 1_000,
          inARow: undefined,
          recordIf: 'default',
        },
      ],
      stacks: [{ policies: [0, 2, 1], by: 'wrap' }],
      stages: [],
      listenersThrow: false,
      steps: [
        starting(10, call({ does: 'resolve', after: 15 })),
        { ...call({ does: 'reject', after: 1 }), budget: 3 },
        starting(0, starting(7, call({ does: 'hang' }))),
        call({ does: 'hang' }),
        call({ does: 'reject' }),
        { kind: 'pass', ms: 7 },
        call({ does: 'resolve', after: 25 }),
      ],
    });

    expect(violations).toEqual([]);
    expect([...reached]).toEqual(expect.arrayContaining(['open', 'half-open', 'timed out', 'nested']));
  });
});

describe('The end of an execution', PATIENCE, () => {
  it('is waited for as long as retries around retries take, whose calls wait for one slot', async () => {
    const retry = { kind: 'retry', factor: 2, asFunction: false, retryIf: 'default', onResult: undefined } as const;
    campaign = await Campaign.open();
    const { violations } = await campaign.play({
      ties: 0,
      policies: [
        { kind: 'bulkhead', slots: 1, queue: 2, queueTimeout: undefined, holds: true },
        { ...retry, attempts: 2, delay: 0 },
        { ...retry, attempts: 4, delay: 40 },
        { ...retry, attempts: 4, delay: 40 },
        { ...retry, attempts: 4, delay: 40 },
      ],
      stacks: [{ policies: [1, 0, 2, 3, 4], by: 'wrap' }],
      stages: [],
      listenersThrow: false,
      steps: [call({ does: 'reject', after: 2 }), call({ does: 'reject', after: 60 })],
    });

    expect(violations).toEqual([]);
  });
});

describe('A random execution', PATIENCE, () => {
  it('is the same for the same seed', async () => {
    campaign = await Campaign.open(FAULTS['slots-as-counted']);
    const first = await campaign.run({ seed: 1, executions: SOON });
    const again = await campaign.run({ seed: first?.seed ?? 0, executions: 1 });

    expect(again).toEqual(first);
    expect(scenarioOf(7)).toEqual(scenarioOf(7));
  });

  it.each(Object.entries(INVARIANTS))('finds a fault of "%s": %s', async (id) => {
    expect(await finds(id as InvariantId, FAULTS[id as InvariantId])).toBe(true);
  });

  it.each(Object.entries(PLAIN_FAULTS))(
    'finds a fault of "%s" in calls that are not looked into',
    async (id, fault) => {
      expect(await finds(id as InvariantId, fault)).toBe(true);
    },
  );
});

async function finds(id: InvariantId, fault: (engine: Engine) => Engine): Promise<boolean> {
  campaign = await Campaign.open(fault);
  for (let seed = 1; seed <= SOON; seed++) {
    const { violations } = await campaign.play(scenarioOf(seed));
    if (violations.some(({ invariant }) => invariant === id)) return true;
  }

  return false;
}
