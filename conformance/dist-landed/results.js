import { verdictOf } from './verdict.js';
export async function resultsOf(adapter, guarantees) {
    const verdicts = [];
    // One after the other: each has the process and its clock for itself.
    for (const guarantee of guarantees)
        verdicts.push(await verdictOf(guarantee, adapter));
    const { name, version, settings = {} } = adapter;
    return { library: { name, version, settings }, verdicts };
}
const SIGNS = { holds: 'holds', fails: '**fails**', 'not offered': '–' };
/** A table for readers: a row for each guarantee, a column for each library, and below it why something fails. */
export function table(guarantees, results) {
    const heads = results.map(({ library: { name, version } }) => `${name} ${version}`);
    const rows = guarantees.map(({ policy, sentence }, at) => [
        policy,
        sentence,
        ...results.map(({ verdicts }) => SIGNS[verdicts[at].kind]),
    ]);
    return markdown([
        ['policy', 'guarantee', ...heads],
        ...rows,
        ['', 'held, of those offered', ...results.map(({ verdicts }) => heldOf(verdicts))],
    ]);
}
/** Why each guarantee fails where it does, where that was seen, and which documented options were set. */
export function reasons(guarantees, results) {
    return guarantees
        .flatMap((guarantee, at) => {
        const failing = results.flatMap(({ library, verdicts }) => {
            const verdict = verdicts[at];
            return verdict.kind === 'fails' ? [`  - ${library.name}: ${verdict.because}${tried(guarantee, library)}`] : [];
        });
        return failing.length === 0 ? [] : [`- \`${guarantee.id}\` (seen: ${guarantee.seen})`, ...failing];
    })
        .join('\n');
}
function tried({ needs }, { settings = {} }) {
    const options = needs.flatMap((feature) => settings[feature] ?? []);
    return options.length === 0 ? '' : ` _(with ${options.join('; ')})_`;
}
/** What each library keeps by policy, as "held of offered"; a dash where it offers none. */
export function summary(guarantees, results) {
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
function markdown([head = [], ...rows]) {
    return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
function heldOf(verdicts) {
    const offered = verdicts.filter(({ kind }) => kind !== 'not offered');
    if (offered.length === 0)
        return '–';
    return `${offered.filter(({ kind }) => kind === 'holds').length} of ${offered.length}`;
}
//# sourceMappingURL=results.js.map