import { parse, type FieldNode, type FragmentDefinitionNode, type OperationDefinitionNode } from 'graphql';
import type { GraphqlInfo } from 'holdfast/nest';
import { describe, expect, it } from 'vitest';
import { callsAbove, fieldPlace } from './graphql-place.js';

/** What a resolver is told of the field at this path. */
function infoAt(query: string, path: readonly (string | number)[], variableValues = {}): GraphqlInfo {
  const { definitions } = parse(query);
  const fragments = definitions.filter((node): node is FragmentDefinitionNode => node.kind === 'FragmentDefinition');
  let at: { prev: never; key: string | number } | undefined;
  for (const key of path) at = { prev: at as never, key };

  return {
    operation: definitions.find((node) => node.kind === 'OperationDefinition') as OperationDefinitionNode,
    path: at,
    fieldNodes: [] as FieldNode[],
    fragments: Object.fromEntries(fragments.map((fragment) => [fragment.name.value, fragment])),
    variableValues,
  } as unknown as GraphqlInfo;
}

const twins = (query: string, ...path: (string | number)[]): string =>
  fieldPlace(infoAt(query, path), { tellsTwins: true });

describe('The place of a field', () => {
  it.each([
    ['at the root', 'mutation { charge }', ['charge'], 'charge'],
    ['under another name', 'mutation { a: charge }', ['a'], 'charge'],
    ['below others, and in lists', 'mutation { a: batch { b: charge } }', ['a', 0, 'b'], 'batch.0.charge'],
    ['as a twin', 'mutation { a: charge b: refund c: charge }', ['c'], 'charge~1'],
    ['of another twin under other names', 'mutation { x: charge y: refund z: charge }', ['z'], 'charge~1'],
    ['as the third', 'mutation { a: charge b: charge c: charge }', ['c'], 'charge~2'],
    ['below a twin', 'mutation { a: shop { charge } b: shop { charge } }', ['b', 'charge'], 'shop~1.charge'],
    ['written twice, which is one', 'mutation { charge charge b: charge }', ['b'], 'charge~1'],
    ['in fragments', 'mutation { ...F ... { b: charge } } fragment F on Mutation { a: charge }', ['b'], 'charge~1'],
    ['beside one that is left out', 'mutation { a: charge @skip(if: true) b: charge }', ['b'], 'charge'],
    ['that nobody has written', 'mutation { charge }', ['hidden'], 'hidden'],
  ])('%s', (_where, query, path, place) => {
    expect(twins(query, ...path)).toBe(place);
  });

  it('does not tell twins that have keys of their own', () => {
    const info = infoAt('mutation { a: charge b: charge }', ['b']);

    expect(fieldPlace(info, { tellsTwins: false })).toBe('charge');
  });
});

describe('The calls above a field', () => {
  const above = (query: string, path: readonly (string | number)[], variables = {}): string[] =>
    callsAbove(infoAt(query, path, variables));

  it('are none at the root', () => {
    expect(above('mutation { charge(amount: 1) }', ['charge'])).toEqual([]);
  });

  it('are told with all that they were given, whatever their names in the answer', () => {
    const literal = 'mutation { a: account(id: 1, of: { tags: ["x", null], kind: CARD, live: true }) { debit } }';
    const variables =
      'mutation ($id: Int, $x: String) { account(of: { kind: CARD, live: true, tags: [$x, null] }, id: $id) { debit } }';
    const [told, ...others] = above(literal, ['a', 'debit']);

    expect(others).toEqual([]);
    expect(above(variables, ['account', 'debit'], { id: 1, x: 'x' })).toEqual([told]);
    expect(above(variables, ['account', 'debit'], { id: 2, x: 'x' })).not.toEqual([told]);
  });
});
