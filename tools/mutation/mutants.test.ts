import { describe, expect, it } from 'vitest';
import { answersOf, judge, mutantsOf, percentOf, scoreOf } from './mutants.mjs';

const SOURCE = `
const LIMIT = 5;

export class Gate {
  #free = true;

  enter(name: string): boolean {
    if (name === '') throw new TypeError('no name');
    return this.#free && LIMIT > 0 && LIMIT > 0;
  }
}
`;

/** As Stryker reports a mutant: the `nth` place of a text, and what stands there instead. */
function mutant(text: string, replacement: string, { status = 'Survived', nth = 1, source = SOURCE } = {}) {
  let start = -1;
  for (let found = 0; found < nth; found++) start = source.indexOf(text, start + 1);
  const position = (offset: number) => {
    const before = source.slice(0, offset).split('\n');
    return { line: before.length, column: before.at(-1)!.length + 1 };
  };
  const location = { start: position(start), end: position(start + text.length) };

  return { status, replacement, location };
}

const identities = (mutants: ReturnType<typeof mutant>[], source = SOURCE) =>
  mutantsOf('gate.ts', { source, mutants }).map(({ status: _, line: __, ...identity }) => identity);

describe('a mutant', () => {
  it('is known by its file, the names around it, its text and what replaces that', () => {
    expect(identities([mutant("'no name'", '""')])).toEqual([
      { file: 'gate.ts', within: 'Gate.enter', original: "'no name'", replacement: '""' },
    ]);
  });

  it.each([
    ['a constant', '5', 'LIMIT'],
    ['a field', 'true', 'Gate.#free'],
    ['a method as a whole', '{\n    if', 'Gate.enter'],
  ])('of %s is known by its name', (_what, text, within) => {
    expect(identities([mutant(text, '')])).toEqual([expect.objectContaining({ within })]);
  });

  it('is the same one below lines that were added', () => {
    const longer = `// A comment.\nfunction other() {}\n${SOURCE}`;

    expect(identities([mutant("'no name'", '""', { source: longer })], longer)).toEqual(
      identities([mutant("'no name'", '""')]),
    );
  });

  it('is numbered in its function where others are alike, in the order of the source', () => {
    const twins = [mutant('LIMIT > 0', 'true', { nth: 2 }), mutant('LIMIT > 0', 'true'), mutant('LIMIT > 0', 'false')];

    expect(identities(twins).map(({ replacement, nth }) => [replacement, nth])).toEqual([
      ['true', 1],
      ['false', undefined],
      ['true', 2],
    ]);
  });

  it('of what an object is taken apart into is known by the names around that', () => {
    const source = 'function read(options: Options) { const { name = 5 } = options; return name; }';

    expect(identities([mutant('5', '6', { source })], source)).toEqual([expect.objectContaining({ within: 'read' })]);
  });

  it.each(['CompileError', 'Ignored', 'Pending'])('that is reported as %s never ran, and is none', (status) => {
    expect(identities([mutant('5', '6', { status })])).toEqual([]);
  });
});

describe('what a report has answers for', () => {
  it('are the mutants that were noticed: all others run again', () => {
    const statuses = ['Killed', 'Survived', 'Timeout', 'NoCoverage', 'RuntimeError', 'Pending'];
    const file = { source: SOURCE, mutants: statuses.map((status) => mutant('5', '', { status })) };
    const report = { schemaVersion: '2', files: { 'gate.ts': file } };
    const answered = answersOf(report);

    expect(answered).toEqual({
      ...report,
      files: { 'gate.ts': { ...file, mutants: answered.files['gate.ts'].mutants } },
    });
    expect(answered.files['gate.ts'].mutants.map(({ status }) => status)).toEqual(['Killed', 'Timeout']);
    expect(file.mutants).toHaveLength(statuses.length);
  });
});

describe('the verdict', () => {
  const [survivor, killed, endless, uncovered] = mutantsOf('gate.ts', {
    source: SOURCE,
    mutants: [
      mutant('5', '6'),
      mutant('true', 'false', { status: 'Killed' }),
      mutant("name === ''", 'true', { status: 'Timeout' }),
      mutant("'no name'", '""', { status: 'NoCoverage' }),
    ],
  }) as [Survivor, Survivor, Survivor, Survivor];
  type Survivor = ReturnType<typeof mutantsOf>[number];
  const all = [survivor, killed, endless, uncovered];
  const listed = ({ status: _, line: __, ...identity }: Survivor) => ({ ...identity, reason: 'Nobody asks.' });

  it('names the survivors that are not listed, covered by a test or not', () => {
    expect(judge(all, []).unlisted).toEqual([survivor, uncovered]);
    expect(judge(all, [listed(uncovered)]).unlisted).toEqual([survivor]);
    expect(judge(all, [listed(uncovered), listed(survivor)]).unlisted).toEqual([]);
  });

  it('names what is listed and noticed by now, or no more', () => {
    const gone = { ...listed(survivor), original: '7' };

    expect(judge(all, [listed(survivor), listed(killed), listed(endless), gone]).stale).toEqual([
      listed(killed),
      listed(endless),
      gone,
    ]);
  });

  it('does not take one of two that are alike for the other', () => {
    const twins = mutantsOf('gate.ts', {
      source: SOURCE,
      mutants: [mutant('LIMIT > 0', 'true'), mutant('LIMIT > 0', 'true', { nth: 2 })],
    });

    expect(judge(twins, [listed(twins[1]!)]).unlisted).toEqual([twins[0]]);
  });

  it('names those that ran out of time', () => {
    expect(judge(all, []).timedOut).toEqual([endless]);
  });

  it('names those that broke the tests outside of a test, which count as neither noticed nor survivors', () => {
    const [broken] = mutantsOf('gate.ts', {
      source: SOURCE,
      mutants: [mutant('5', '7', { status: 'RuntimeError' })],
    }) as [Survivor];

    expect(judge([...all, broken], [])).toMatchObject({ unlisted: [survivor, uncovered], unknown: [broken] });
    expect(scoreOf([...all, broken], [])).toEqual(scoreOf(all, []));
  });

  it('counts a listed survivor as one that was not noticed', () => {
    expect(scoreOf(all, [listed(survivor)])).toEqual({ noticed: 2, timedOut: 1, listed: 1, unlisted: 1 });
    expect(percentOf([scoreOf(all, [listed(survivor)])])).toBe(50);
    expect(percentOf([{ noticed: 9, timedOut: 0, listed: 1, unlisted: 0 }, scoreOf([], [])])).toBe(90);
  });

  it('has nothing to say of a file in which nothing can be changed', () => {
    expect(percentOf([scoreOf([], [])])).toBe(100);
  });
});
