import type { Adapter } from './adapter.js';
import type { Guarantee } from './guarantee.js';
import { verdictOf, type Verdict } from './verdict.js';

/** What one library keeps of all guarantees, in their order. */
export interface LibraryResults {
  readonly library: Pick<Adapter, 'name' | 'version'>;
  readonly verdicts: readonly Verdict[];
}

export async function resultsOf(adapter: Adapter, guarantees: readonly Guarantee[]): Promise<LibraryResults> {
  const verdicts: Verdict[] = [];
  // One after the other: each has the process and its clock for itself.
  for (const guarantee of guarantees) verdicts.push(await verdictOf(guarantee, adapter));

  return { library: { name: adapter.name, version: adapter.version }, verdicts };
}

const SIGNS: Readonly<Record<Verdict['kind'], string>> = { holds: 'holds', fails: '**fails**', 'not offered': '–' };

/** A table for readers: a row for each guarantee, a column for each library, and below it why something fails. */
export function table(guarantees: readonly Guarantee[], results: readonly LibraryResults[]): string {
  const heads = results.map(({ library: { name, version } }) => `${name} ${version}`);
  const rows = guarantees.map(({ policy, sentence }, at) => [
    policy,
    sentence,
    ...results.map(({ verdicts }) => SIGNS[(verdicts[at] as Verdict).kind]),
  ]);

  return [
    ['policy', 'guarantee', ...heads],
    ['---', '---', ...heads.map(() => '---')],
    ...rows,
    ['', 'held, of those offered', ...results.map(({ verdicts }) => heldOf(verdicts))],
  ]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}

/** Why each guarantee fails where it does, and where that was seen. */
export function reasons(guarantees: readonly Guarantee[], results: readonly LibraryResults[]): string {
  return guarantees
    .flatMap((guarantee, at) => {
      const failing = results.flatMap(({ library, verdicts }) => {
        const verdict = verdicts[at] as Verdict;
        return verdict.kind === 'fails' ? [`  - ${library.name}: ${verdict.because}`] : [];
      });
      return failing.length === 0 ? [] : [`- \`${guarantee.id}\` (seen: ${guarantee.seen})`, ...failing];
    })
    .join('\n');
}

function heldOf(verdicts: readonly Verdict[]): string {
  const offered = verdicts.filter(({ kind }) => kind !== 'not offered');

  return `${offered.filter(({ kind }) => kind === 'holds').length} of ${offered.length}`;
}
