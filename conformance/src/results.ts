import type { Adapter } from './adapter.js';
import type { Guarantee } from './guarantee.js';
import { verdictOf, type Verdict } from './verdict.js';

/** What one library keeps of all guarantees, in their order. */
export interface LibraryResults {
  readonly library: Pick<Adapter, 'name' | 'version' | 'settings'>;
  readonly verdicts: readonly Verdict[];
}

export async function resultsOf(adapter: Adapter, guarantees: readonly Guarantee[]): Promise<LibraryResults> {
  const verdicts: Verdict[] = [];
  // One after the other: each has the process and its clock for itself.
  for (const guarantee of guarantees) verdicts.push(await verdictOf(guarantee, adapter));

  const { name, version, settings = {} } = adapter;
  return { library: { name, version, settings }, verdicts };
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

  return markdown([
    ['policy', 'guarantee', ...heads],
    ...rows,
    ['', 'held, of those offered', ...results.map(({ verdicts }) => heldOf(verdicts))],
  ]);
}

/** Why each guarantee fails where it does, where that was seen, and which documented options were set. */
export function failures(guarantees: readonly Guarantee[], results: readonly LibraryResults[]): string {
  return guarantees
    .flatMap((guarantee, at) => {
      const failing = results.flatMap(({ library, verdicts }) => {
        const verdict = verdicts[at] as Verdict;
        return verdict.kind === 'fails' ? [`  - ${library.name}: ${verdict.because}${tried(guarantee, library)}`] : [];
      });
      return failing.length === 0 ? [] : [`- \`${guarantee.id}\` (seen: ${guarantee.seen})`, ...failing];
    })
    .join('\n');
}

function tried({ needs }: Guarantee, { settings = {} }: LibraryResults['library']): string {
  const options = needs.flatMap((feature) => settings[feature] ?? []);

  return options.length === 0 ? '' : ` _(with ${options.join('; ')})_`;
}

/** What each library keeps by policy, as "held of offered"; a dash where it offers none. */
export function summary(guarantees: readonly Guarantee[], results: readonly LibraryResults[]): string {
  const policies = [...new Set(guarantees.map(({ policy }) => policy))];
  const rows = policies.map((policy) => [
    policy,
    ...results.map(({ verdicts }) => heldOf(verdicts.filter((_verdict, at) => guarantees[at]?.policy === policy))),
  ]);

  return markdown([
    ['policy', ...results.map(({ library }) => library.name)],
    ...rows,
    ['all', ...results.map(({ verdicts }) => heldOf(verdicts))],
  ]);
}

function markdown([head = [], ...rows]: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function heldOf(verdicts: readonly Verdict[]): string {
  const offered = verdicts.filter(({ kind }) => kind !== 'not offered');
  if (offered.length === 0) return '–';

  return `${offered.filter(({ kind }) => kind === 'holds').length} of ${offered.length}`;
}
