import type { Directive, GraphqlInfo, Selection } from './graphql-call.js';

/** What the fields of a selection depend on. */
export type Fragments = Pick<GraphqlInfo, 'fragments' | 'variableValues'>;

/**
 * Where a query has asked for a field of an object: once for each name that the answer gives it. GraphQL itself knows
 * that only when it comes to the field.
 *
 * @param parents What was asked for of the object.
 */
export function selectionsOf(name: string, parents: readonly Selection[], info: Fragments): Map<string, Selection[]> {
  const found = new Map<string, Selection[]>();
  for (const field of fieldsOf(parents, info)) {
    if (field.name?.value !== name) continue;

    const key = field.alias?.value ?? name;
    found.set(key, [...(found.get(key) ?? []), field]);
  }

  return found;
}

/** The fields that a query has asked for of an object, whatever the answer calls them, and of the objects in them. */
export class AskedFields {
  private fields: ReadonlyMap<string, AskedFields> | undefined = undefined;

  /** @param nodes What was asked for of the object. */
  constructor(
    private readonly nodes: readonly Selection[],
    private readonly info: Fragments,
  ) {}

  get byName(): ReadonlyMap<string, AskedFields> {
    return (this.fields ??= this.read());
  }

  private read(): ReadonlyMap<string, AskedFields> {
    const found = new Map<string, Selection[]>();
    for (const field of fieldsOf(this.nodes, this.info)) {
      const name = field.name?.value ?? '';
      found.set(name, [...(found.get(name) ?? []), field]);
    }

    return new Map([...found].map(([name, nodes]) => [name, new AskedFields(nodes, this.info)]));
  }
}

/**
 * The fields of these selections in the order in which they are resolved, those of fragments among them. Validated
 * operations have no fragment that contains itself.
 */
export function* fieldsOf(parents: readonly Selection[], info: Fragments): Generator<Selection> {
  for (const selection of parents.flatMap((parent) => parent.selectionSet?.selections ?? [])) {
    if (isLeftOut(selection, info)) continue;

    if (selection.kind === 'Field') yield selection;
    else if (selection.kind === 'InlineFragment') yield* fieldsOf([selection], info);
    else yield* fieldsOf(fragmentOf(selection, info), info);
  }
}

function fragmentOf({ name }: Selection, { fragments }: Fragments): Selection[] {
  const fragment = name && fragments?.[name.value];

  return fragment === undefined ? [] : [fragment];
}

/** By `@skip` and `@include`. */
function isLeftOut({ directives = [] }: Selection, info: Fragments): boolean {
  return directives.some(
    (directive) =>
      (directive.name.value === 'skip' && conditionOf(directive, info) === true) ||
      (directive.name.value === 'include' && conditionOf(directive, info) === false),
  );
}

function conditionOf(directive: Directive, { variableValues }: Fragments): unknown {
  const value = directive.arguments?.[0]?.value;
  if (value?.kind === 'Variable') return variableValues?.[value.name?.value ?? ''];

  return value?.value;
}
