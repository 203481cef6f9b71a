import { fieldsOf, pathOf, type GraphqlInfo, type Selection } from 'holdfast/nest';
import { canonicalText } from '../key/canonical-text.js';

/** The part of a query that says with what a field is called. */
interface ArgumentNode {
  readonly name: { readonly value: string };
  readonly value: ValueNode;
}

interface ValueNode {
  readonly kind: string;
  /** Of a literal. */
  readonly value?: unknown;
  /** Of a variable. */
  readonly name?: { readonly value: string };
  /** Of a list. */
  readonly values?: readonly ValueNode[];
  /** Of an object. */
  readonly fields?: readonly ArgumentNode[];
}

/** A field on the way to another one, or the index in a list. */
type Step = number | { readonly name: string; readonly nth: number; readonly node: Selection | undefined };

export interface PlaceOptions {
  /** Whether one key is meant for several calls of one field, so that they have to be told apart. */
  readonly tellsTwins: boolean;
}

/**
 * Where a field stands in an operation, by the names of fields and the indexes in lists, such as `batch.0.charge`. What the
 * query calls a field says nothing: whoever repeats a mutation may call it otherwise.
 *
 * Twins, which are calls of the same field of one object in one operation, are numbered as they are written: `charge`,
 * `charge~1`. The names of GraphQL have neither a dot nor a tilde.
 */
export function fieldPlace(info: GraphqlInfo, { tellsTwins }: PlaceOptions): string {
  return stepsTo(info)
    .map((step) => (typeof step === 'number' ? step : step.name + (tellsTwins && step.nth > 0 ? `~${step.nth}` : '')))
    .join('.');
}

/** With what the fields were called in which a field stands: it may be that of another object. Empty at the root. */
export function callsAbove(info: GraphqlInfo): string[] {
  return stepsTo(info)
    .slice(0, -1)
    .flatMap((step) =>
      typeof step === 'number' ? [] : [`${step.name}(${canonicalText(argumentsOf(step.node, info))})`],
    );
}

function stepsTo(info: GraphqlInfo): Step[] {
  let above: readonly Selection[] = [{ kind: 'Field', selectionSet: info.operation?.selectionSet }];

  return pathOf(info).map((key) => {
    if (typeof key === 'number') return key;

    const fields = [...fieldsOf(above, info)];
    above = fields.filter((field) => keyOf(field) === key);
    const [node] = above;
    const name = node?.name?.value ?? key;
    const twins = new Set(fields.filter((field) => field.name?.value === name).map(keyOf));

    return { name, nth: Math.max(0, [...twins].indexOf(key)), node };
  });
}

/** What the answer calls a field. */
function keyOf({ alias, name }: Selection): string {
  return (alias ?? name)?.value ?? '';
}

function argumentsOf(node: Selection | undefined, info: GraphqlInfo): Record<string, unknown> {
  const { arguments: given = [] } = (node ?? {}) as { readonly arguments?: readonly ArgumentNode[] };

  return Object.fromEntries(given.map(({ name, value }) => [name.value, valueOf(value, info)]));
}

const NUMBERS: ReadonlySet<string> = new Set(['IntValue', 'FloatValue']);

/** As variables have them; what a number cannot hold stays as it was written. */
function numberOf(text: string): number | string {
  const number = Number(text);

  return Number.isInteger(number) && !Number.isSafeInteger(number) ? text : number;
}

function valueOf(node: ValueNode, info: GraphqlInfo): unknown {
  if (node.kind === 'Variable') return info.variableValues?.[node.name?.value ?? ''];
  if (node.values !== undefined) return node.values.map((value) => valueOf(value, info));
  if (NUMBERS.has(node.kind)) return numberOf(String(node.value));
  if (node.fields === undefined) return node.value ?? null;

  return Object.fromEntries(node.fields.map(({ name, value }) => [name.value, valueOf(value, info)]));
}
