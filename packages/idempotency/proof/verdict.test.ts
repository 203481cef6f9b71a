import { describe, expect, it } from 'vitest';
import type { Answer, Asked } from './clients.js';
import type { Evidence, Story } from './evidence.js';
import type { Life } from './server-process.js';
import { violationsIn } from './verdict.js';

const charge = { key: 'k', amount: 7 };
const body = (run: string, amount = 7): string => JSON.stringify({ key: 'k', amount, run });
const ran = (run: string): Answer => ({ kind: 'run', body: body(run) });
const replayed = (run: string): Answer => ({ kind: 'replay', body: body(run) });
const asked = (sentAt: number, endedAt: number, answer: Answer, amount = 7): Asked => ({
  charge: { key: 'k', amount },
  sentAt,
  endedAt,
  answer,
});
const effect = (run: string, life: string, at: number) => ({ key: 'k', run, life, arrived: at - 10, at });
const kept = (run: string, at: number) => ({ key: 'k', run, at });
const life = (name: string, faults: Partial<Life> = {}): [string, Life] => [
  name,
  { name, killedAt: undefined, frozen: [], hasCrashed: false, ...faults },
];

/** One run, its replay, a client that came too early and one with another payload. */
const GOOD: Story = {
  charge,
  asked: [
    asked(0, 100, ran('1')),
    asked(10, 20, { kind: 'conflict' }),
    asked(110, 120, replayed('1')),
    asked(130, 140, { kind: 'reused' }, 8),
  ],
  effects: [effect('1', 'a.1', 50)],
  acknowledged: [kept('1', 90)],
};

function broken(story: Partial<Story>, evidence: Partial<Evidence> = {}): readonly string[] {
  const lives = new Map([life('a.1'), life('b.1')]);
  const stories = [{ ...GOOD, ...story }];

  return violationsIn({ stories, lives, outages: [], stalls: [], lockTtl: 2_000, joined: false, ...evidence }).map(
    ({ what }) => what,
  );
}

/** What came first was killed before its answer was kept. */
const REPEATED: Partial<Story> = {
  asked: [asked(0, 100, { kind: 'cut' }), asked(2_000, 2_200, ran('2')), asked(2_300, 2_400, replayed('2'))],
  effects: [effect('1', 'a.1', 50), effect('2', 'b.1', 2_100)],
  acknowledged: [kept('2', 2_150)],
};

describe('The verdict on a key', () => {
  it('is clean for one run, its replay, a 409 and a 422', () => {
    expect(broken({})).toEqual([]);
  });

  it('allows a second effect after a process was killed or stood still, and not otherwise', () => {
    const killed = new Map([life('a.1', { killedAt: 99 }), life('b.1')]);
    expect(broken(REPEATED, { lives: killed })).toEqual([]);
    const later = new Map([life('a.1', { killedAt: 2_101 }), life('b.1')]);
    expect(broken(REPEATED, { lives: later })).toEqual([
      'key k run 1 of a.1, which nothing had disturbed, was followed by another',
    ]);
    const frozen = new Map([life('a.1', { frozen: [{ from: 60, to: 2_090 }] }), life('b.1', { killedAt: 9_999 })]);
    expect(broken(REPEATED, { lives: frozen })).toEqual([]);
  });

  it('overlooks what a process does that stood still since it had got the lock', () => {
    const late = {
      asked: [...GOOD.asked, asked(10, 2_300, ran('2'))],
      effects: [...GOOD.effects, { ...effect('2', 'b.1', 2_200), arrived: 40 }],
    };
    const standing = (from: number, to: number) => new Map([life('a.1'), life('b.1', { frozen: [{ from, to }] })]);
    expect(broken(late, { lives: standing(41, 2_199) })).toEqual([]);
    expect(broken(late, { lives: standing(20, 39) })).toEqual([
      'key k run 1 of a.1, which nothing had disturbed, was followed by another',
      'key k an effect of b.1 came after the answer of run 1 had been acknowledged',
    ]);
  });

  it('allows it, and a refusal, while a busy machine keeps the process waiting, and no other', () => {
    const of = (life: string): Evidence['stalls'] => [{ life, from: 60, to: 2_089 }];
    const alive = new Map([life('a.1'), life('b.1', { killedAt: 9_999 })]);
    expect(broken(REPEATED, { lives: alive, stalls: of('a.1') })).toEqual([]);
    expect(broken(REPEATED, { lives: alive, stalls: of('b.1') })).toHaveLength(1);

    const refused = { asked: [...GOOD.asked, asked(9_000, 9_010, { kind: 'conflict' })], acknowledged: [] };
    expect(broken(refused)).toHaveLength(1);
    expect(broken(refused, { stalls: [{ life: 'b.1', from: 5_999, to: 6_000 }] })).toEqual([]);
    expect(broken(refused, { stalls: [{ life: 'b.1', from: 5_998, to: 5_999 }] })).toHaveLength(1);
  });

  it('allows none with a joined transaction', () => {
    const lives = new Map([life('a.1', { killedAt: 99 }), life('b.1')]);
    expect(broken(REPEATED, { lives, joined: true })).toEqual([
      'key k has 2 effects in spite of the joined transaction',
    ]);
  });

  it('allows an outage to take the lock only when it was longer than two thirds of its time', () => {
    const lives = new Map([life('a.1', { killedAt: 99 }), life('b.1')]);
    const alive = new Map([life('a.1'), life('b.1', { killedAt: 9_999 })]);
    expect(broken(REPEATED, { lives })).toEqual([]);
    const outage = (to: number): Evidence['outages'] => [{ kind: 'pause', from: 100, to }];
    expect(broken(REPEATED, { lives: alive, outages: outage(1_434) })).toEqual([]);
    expect(broken(REPEATED, { lives: alive, outages: outage(1_433) })).toHaveLength(1);
  });

  it('sees an effect, and another answer, after one that was acknowledged', () => {
    const lives = new Map([life('a.1', { killedAt: 300 }), life('b.1')]);
    const again = { effects: [...GOOD.effects, effect('2', 'b.1', 2_100)] };
    expect(broken(again, { lives })).toEqual([
      'key k an effect of b.1 came after the answer of run 1 had been acknowledged',
    ]);
    expect(broken({ acknowledged: [kept('1', 90), kept('2', 95)] })).toEqual([
      'key k the answers of 2 runs were acknowledged',
    ]);
  });

  it('sees replays of another run, of another key, and of none', () => {
    expect(broken({ asked: [...GOOD.asked, asked(150, 160, replayed('2'))] })).toEqual([
      'key k was answered with 2 different replays',
      'key k was answered with run 2, which has no effect',
      'key k was replayed another run than 1, which was acknowledged',
    ]);
    const stranger: Answer = { kind: 'replay', body: body('1', 70) };
    expect(broken({ asked: [asked(0, 100, ran('1')), asked(110, 120, stranger)] })).toEqual([
      'key k was answered with what belongs to {"key":"k","amount":70,"run":"1"}',
    ]);
  });

  it.each<readonly [Answer['kind'], Answer]>([
    ['run', ran('1')],
    ['conflict', { kind: 'conflict' }],
    ['declined', { kind: 'declined' }],
    ['reused', { kind: 'reused' }],
  ])('wants replays after an answer that was kept: %s is none', (kind, answer) => {
    expect(broken({ asked: [...GOOD.asked, asked(150, 160, answer)] })).toContain(
      `key k was answered ${kind} although its answer had been kept`,
    );
  });

  it('lets a key be refused for lockTtl and a second after the last sign of its holder', () => {
    const lives = new Map([life('a.1', { killedAt: 99 }), life('b.1')]);
    const refusedAt = (sentAt: number): Partial<Story> => ({
      asked: [
        asked(0, 100, { kind: 'cut' }),
        asked(sentAt, sentAt + 5, { kind: 'conflict' }),
        asked(9_000, 9_100, ran('1')),
      ],
      effects: [effect('1', 'a.1', 9_050)],
      acknowledged: [kept('1', 9_060)],
    });
    expect(broken(refusedAt(3_100), { lives })).toEqual([]);
    const blocked = ['key k is blocked: refused at 3101 although nobody could hold it any more'];
    expect(broken(refusedAt(3_101), { lives })).toEqual(blocked);
    const others: readonly Answer[] = [{ kind: 'conflict' }, { kind: 'refused' }, { kind: 'reused' }];
    for (const answer of others) {
      const meanwhile = refusedAt(3_101);
      const also = { ...meanwhile, asked: [...(meanwhile.asked ?? []), asked(2_200, 2_210, answer, 8)] };
      expect(broken(also, { lives })).toEqual(blocked);
    }
  });

  it('takes a 409 for a sign of the holder where its server has stood still meanwhile, from before until after', () => {
    const refused = (from: number, to: number): readonly string[] => {
      const asks = [asked(0, 2_600, { kind: 'conflict' }), asked(700, 705, { kind: 'conflict' })];
      const story = {
        asked: [...asks, asked(2_700, 2_800, ran('1'))],
        effects: [effect('1', 'b.1', 2_750)],
        acknowledged: [kept('1', 2_760)],
      };

      return broken(story, { lives: new Map([life('a.1', { frozen: [{ from, to }] }), life('b.1')]) });
    };
    const held = 'key k is blocked: refused at 0 although nobody could hold it any more';
    const blocked = 'key k is blocked: refused at 700 although nobody could hold it any more';
    expect([refused(0, 2_600), refused(5, 2_590)]).toEqual([[], []]);
    expect([refused(-1, 2_600), refused(0, 2_601)]).toEqual([
      [held, blocked],
      [held, blocked],
    ]);
  });

  it('wants an answer for good, documented answers, and a store that is not said to be away while it is there', () => {
    expect(broken({ asked: [], effects: [], acknowledged: [] })).toEqual(['key k has no answer for good']);
    expect(broken({ asked: [...GOOD.asked, { charge, sentAt: 0 }] })).toEqual(['key k a request was never answered']);
    const also = (answer: Answer): readonly string[] => broken({ asked: [asked(0, 1, answer), ...GOOD.asked] });
    expect(also({ kind: 'odd', what: '500 {}' })).toEqual(['key k was answered 500 {}']);
    expect(also({ kind: 'unavailable' })).toEqual([
      'key k was answered that the store is unavailable, which it was not',
    ]);
    expect(also({ kind: 'cut' })).toEqual(['key k a connection broke although no server was killed']);
    expect(also({ kind: 'reused' })).toContain('key k was told to be the key of another payload');
  });

  it('lets a store be said to be away for a second after an outage, and neither later nor before', () => {
    const outages: Evidence['outages'] = [{ kind: 'pause', from: 2_000, to: 3_000 }];
    const away = (sentAt: number, endedAt: number): readonly string[] =>
      broken({ asked: [...GOOD.asked, asked(sentAt, endedAt, { kind: 'unavailable' })] }, { outages });
    const groundless = ['key k was answered that the store is unavailable, which it was not'];
    expect([away(1_990, 2_000), away(4_000, 4_010)]).toEqual([[], []]);
    expect([away(1_990, 1_999), away(4_001, 4_010)]).toEqual([groundless, groundless]);
  });

  it('sees a server that ended by itself', () => {
    const lives = new Map([life('a.1', { hasCrashed: true })]);
    expect(broken({}, { lives })).toEqual(['server a.1 ended by itself']);
  });
});
