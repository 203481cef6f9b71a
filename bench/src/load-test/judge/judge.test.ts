import { describe, expect, it } from 'vitest';
import { drawRun } from '../draw-run.js';
import type { Answer, Entry, Figures, MadeOutcome, PhaseRecord, PolicyEvent, RunRecord, SeenCall } from '../records.js';
import { BREAKER_NAMES, BULKHEAD_NAMES, type CallName } from '../settings.js';
import { rowsOf } from '../table.js';
import { judge } from './judge.js';

const SEEN: Readonly<Record<MadeOutcome, SeenCall['outcome']>> = {
  ok: 'answered',
  failed: 'refused',
  'timed out': 'cut',
  cancelled: 'cut',
};

const AT_REST = { active: 0, queued: 0, abandoned: 0 };

/** Writes down what happens in one phase as the processes do; each test changes what it is about. */
class Script {
  readonly answers: Answer[] = [];
  readonly entries: Entry[] = [];
  readonly seen: SeenCall[] = [];
  readonly complaints: string[] = [];
  heldByDependency = 0;
  after = { heapBytes: 20_000_000, resources: { TCPServerWrap: 1 } };
  bareLateMs = 1;
  private at = 1_000;
  private id = 0;

  pass(ms: number): this {
    this.at += ms;
    return this;
  }

  /** A request that leads to one call. */
  request(name: 'quotes' | 'prices' | 'orders', made: MadeOutcome = 'ok'): SeenCall {
    this.answers.push({
      route: name,
      dueAt: this.at,
      ms: 20,
      kind: made === 'ok' ? 'whole' : 'failed',
      told: made === 'ok' ? '200' : '502',
      missing: [],
    });

    return this.call(name, made);
  }

  call(name: CallName, made: MadeOutcome = 'ok'): SeenCall {
    const id = ++this.id;
    const startAt = this.at;
    this.entries.push({ kind: 'start', at: startAt, id, name });
    this.at += 20;
    const seen = { id, name, arrivedAt: startAt + 1, endedAt: this.at - 1, outcome: SEEN[made], concurrent: 1 };
    this.seen.push(seen);
    this.entries.push({ kind: 'end', at: this.at, id, outcome: made });
    return seen;
  }

  event(event: PolicyEvent): this {
    this.entries.push({ kind: 'event', at: this.at, event });
    return this;
  }

  change(state: 'open' | 'half-open' | 'closed', total: number, failures: number): this {
    return this.pass(10).event({ type: `circuit-${state}`, policy: 'quotes', stats: { total, failures } });
  }

  /** What breakers have counted, where it is not nothing, and slots that are not free. */
  rest(breakers: Partial<Figures['breakers']> = {}, bulkheads: Partial<Figures['bulkheads']> = {}): this {
    const none = BREAKER_NAMES.map((name) => [name, { total: 0, failures: 0 }]);
    const free = BULKHEAD_NAMES.map((name) => [name, AT_REST]);
    const figures = {
      breakers: { ...Object.fromEntries(none), ...breakers },
      bulkheads: { ...Object.fromEntries(free), ...bulkheads },
    } as Figures;
    this.entries.push({ kind: 'rest', at: this.pass(10).at, figures });
    return this;
  }

  get record(): RunRecord {
    const { answers, entries, seen, heldByDependency: held, bareLateMs: lateMs } = this;
    const bare = answers.map(({ dueAt, ms }) => ({ dueAt, ms, lateMs }));
    const phase: PhaseRecord = { condition: 'up', from: 1_000, to: this.at, answers, bare, entries, seen, held };
    const before = { heapBytes: 20_000_000, resources: { TCPServerWrap: 1 } };

    return { seed: 1, phases: [phase], before, after: this.after, complaints: this.complaints };
  }

  /** The beginnings of the sentences that do not hold. */
  get broken(): string[] {
    return judge(this.record).flatMap(({ sentence, findings }) => (findings.length === 0 ? [] : [sentence]));
  }
}

/** Ten calls that failed, and the breaker that opened. */
function opened(): Script {
  const script = new Script();
  for (let nth = 1; nth <= 10; nth++) script.request('quotes', 'failed');

  return script.change('open', 10, 10);
}

/** Answers that quotes may not have by then are those that were rejected. */
function rejected(script: Script): Script {
  script.answers.push({ ...(script.answers[0] as Answer), kind: 'rejected', told: '503' });

  return script.event({ type: 'circuit-rejected', policy: 'quotes', source: 'Routes.quotes' });
}

describe('A run in which everything is right', () => {
  it('has nothing that speaks against it', () => {
    const script = new Script();
    script.request('quotes');
    script.request('orders', 'failed');
    script.rest({ quotes: { total: 1, failures: 0 }, orders: { total: 1, failures: 1 } });

    expect(script.broken).toEqual([]);
  });

  it('may have a breaker that opens, rejects, asks and closes', () => {
    const script = rejected(opened().pass(500).change('half-open', 10, 10));
    for (let nth = 1; nth <= 3; nth++) script.request('quotes');
    script.change('closed', 0, 0).rest();

    expect(script.broken).toEqual([]);
  });

  it('may have twice the limit of calls within one interval: a full bucket, and what it gets back meanwhile', () => {
    const script = new Script();
    for (let nth = 1; nth <= 20; nth++) script.request('prices');
    for (let nth = 1; nth <= 20; nth++) script.pass(10).request('prices');

    expect(script.broken).toEqual([]);
  });

  it('has a row in the table for each phase, and a plot', () => {
    const { record } = rejected(opened()).rest();

    expect(rowsOf(record.phases)).toEqual([
      [
        'up',
        'open, opened 1 x',
        '11',
        '0',
        '0',
        '1',
        '0',
        '10',
        '20',
        '20',
        '20',
        '-380',
        '1',
        '10',
        '0',
        '10',
        '0',
        '1',
      ],
    ]);
    expect(drawRun(record)).toMatch(/^<svg [^]*>quotes<[^]*<\/svg>\n$/);
  });
});

describe('A run speaks against itself when', () => {
  const cases: readonly (readonly [string, string, (script: Script) => unknown])[] = [
    [
      'a request has no answer',
      'Every request has an answer, of a documented status',
      (script) =>
        script.answers.push({ route: 'page', dueAt: 1_000, ms: 200, kind: 'none', told: 'reset', missing: [] }),
    ],
    [
      'an answer is later than its budget and the tolerance',
      'No answer is later than its budget and 50 ms',
      (script) =>
        script.answers.push({ route: 'page', dueAt: 1_000, ms: 352, kind: 'whole', told: '200', missing: [] }),
    ],
    [
      'the dependency saw another end of a call',
      'Each call that was made is one that the dependency saw, and ended there as it did here',
      (script) => script.seen.push({ ...(script.seen.pop() as SeenCall), outcome: 'reset' }),
    ],
    [
      'the dependency saw a call that nobody made',
      'Each call that was made is one that the dependency saw, and ended there as it did here',
      (script) => script.seen.push({ ...(script.seen[0] as SeenCall), id: 99 }),
    ],
    [
      'an attempt is neither a call nor a rejection',
      'Every attempt is a call or a rejection, and what was rejected is no call',
      (script) => script.event({ type: 'retry', policy: 'quotes', source: 'Routes.quotes' }),
    ],
    [
      'a rejection is a call all the same',
      'Every attempt is a call or a rejection, and what was rejected is no call',
      (script) => script.event({ type: 'circuit-rejected', policy: 'quotes', source: 'Routes.quotes' }),
    ],
    [
      'a breaker has not counted a call',
      'What a breaker has counted is what the dependency has done',
      (script) => script.rest({ quotes: { total: 0, failures: 0 } }),
    ],
    [
      'a bulkhead lets more through than it has slots',
      'Never do more calls run at the dependency than the bulkhead has slots',
      (script) => script.seen.push({ ...(script.seen.pop() as SeenCall), concurrent: 9 }),
    ],
    [
      'a bulkhead is full while nothing runs',
      'A bulkhead that is full has all of its slots at work at the dependency',
      (script) =>
        script.pass(100).event({ type: 'bulkhead-rejected', policy: 'quotes', reason: 'full', active: 8, queued: 6 }),
    ],
    [
      'a slot is not given back',
      'At rest every slot has been given back, and the abandoned calls are those that the dependency still holds',
      (script) => script.rest({ quotes: { total: 1, failures: 0 } }, { quotes: { ...AT_REST, active: 1 } }),
    ],
    [
      'an abandoned call has ended and still counts',
      'At rest every slot has been given back, and the abandoned calls are those that the dependency still holds',
      (script) => script.rest({ quotes: { total: 1, failures: 0 } }, { reports: { ...AT_REST, abandoned: 1 } }),
    ],
    [
      'a fallback answered that was not told of',
      'Each answer of a fallback, and each mark on a page, has its event',
      (script) => script.event({ type: 'fallback', policy: 'Routes.prices', source: 'Routes.prices' }),
    ],
    [
      'the heap has grown',
      'What was taken on the heap is given back',
      (script) => (script.after = { ...script.after, heapBytes: 23_000_001 }),
    ],
    [
      'there are more sockets than before',
      'Sockets and timers are as many as before',
      (script) => Object.assign(script.after.resources, { TCPSocketWrap: 1 }),
    ],
    [
      'there was a warning',
      'No warning, and no rejection that nobody handled',
      (script) => script.complaints.push('warning: Possible EventEmitter memory leak detected'),
    ],
  ];

  it.each(cases)('%s', (_title, sentence, change) => {
    const script = new Script();
    script.request('quotes');
    change(script);

    expect(script.broken).toEqual([sentence]);
  });

  it('there are more calls than tokens', () => {
    const script = new Script();
    for (let nth = 1; nth <= 40; nth++) script.request('prices');

    expect(script.broken).toEqual([
      'The dependency is never asked for prices more than 20 times and 20 more every 1000 ms',
    ]);
  });
});

describe('A run speaks against a breaker when', () => {
  const OPENS = 'A breaker is open when its threshold was reached, and only then';
  const PROBES = 'Half-open, a breaker lets its probes through, no more, and does what they say';

  it('it is open before its threshold is reached', () => {
    const script = new Script();
    for (let nth = 1; nth <= 9; nth++) script.request('quotes', 'failed');

    expect(script.change('open', 9, 9).broken).toEqual([OPENS]);
  });

  it('it stays closed though its threshold was reached', () => {
    const script = new Script();
    for (let nth = 1; nth <= 10; nth++) script.request('quotes', 'failed');

    expect(script.rest({ quotes: { total: 10, failures: 10 } }).broken).toEqual([OPENS]);
  });

  it('a call comes to the dependency while it is open, later than one could that had to wait', () => {
    const script = opened().pass(56);
    script.request('quotes', 'failed');

    expect(script.broken).toEqual(['While a breaker is open the dependency is left alone']);
  });

  it('more probes run than it may have', () => {
    const script = opened().pass(500).change('half-open', 10, 10);
    for (let nth = 1; nth <= 5; nth++) script.request('quotes');

    expect(script.change('closed', 0, 0).broken).toEqual([PROBES]);
  });

  it.each([
    ['closed', 'failed'],
    ['open', 'ok'],
  ] as const)('it is %s though its probes were %s', (state, made) => {
    const script = opened().pass(500).change('half-open', 10, 10);
    for (let nth = 1; nth <= 4; nth++) script.request('quotes', made);

    expect(script.change(state, 0, 0).broken).toEqual([PROBES]);
  });
});

describe('What is late', () => {
  const LATE: Answer = { route: 'page', dueAt: 1_000, ms: 450, kind: 'whole', told: '200', missing: [] };
  const inTime = ({ record }: Script) => judge(record)[1];

  it('is not judged when the bare route was late by as much at that time', () => {
    const script = new Script();
    script.answers.push(LATE);
    script.bareLateMs = 100;

    expect(inTime(script)).toMatchObject({ findings: [], excused: 1 });
  });

  it('is not judged when the application had no processor for as long', () => {
    const script = new Script();
    script.answers.push(LATE);
    script.entries.push({ kind: 'held', at: 1_300, ms: 110, starvedMs: 105 });

    expect(inTime(script)).toMatchObject({ findings: [], excused: 1 });
  });

  it('is ours when the application held its event loop itself', () => {
    const script = new Script();
    script.answers.push(LATE);
    script.entries.push({ kind: 'held', at: 1_300, ms: 110, starvedMs: 5 });

    expect(inTime(script)?.findings).toHaveLength(1);
  });
});
