import type { DegradedSection } from 'holdfast';
import {
  AskedFields,
  isEnvelope,
  isPartial,
  pathOf,
  selectionsOf,
  type AnyPartialResponse,
  type GraphqlInfo,
  type Selection,
} from 'holdfast/nest';

/** Where something stands in an answer, and what was asked for of it; `undefined` when that is not known. */
interface Place {
  readonly path: readonly (string | number)[];
  readonly nodes: readonly Selection[];
}

/** A section that is missing, at its place in the answer. */
export interface MissingField extends Place {
  readonly section: DegradedSection;
}

export interface PartialOutlet {
  /** What stands in place of a value in order to fail its field. */
  readonly errorOf: (section: DegradedSection) => unknown;
  /** Tells that a section is missing although its field has a value. */
  readonly note: (field: MissingField) => void;
}

/** Types have no more lists in each other; a list may contain itself. */
const DEEPEST_LIST = 4;

/**
 * The partial responses in a resolver's value: itself, in lists, and in objects of no class, where a query has asked
 * for them. No more is looked at than GraphQL looks at by itself.
 */
export function partialsAskedFor(value: unknown, info: GraphqlInfo): ReadonlySet<AnyPartialResponse> {
  const search = new PageSearch();
  search.look(value, new AskedFields(info.fieldNodes ?? [], info));

  return search.found;
}

class PageSearch {
  readonly found = new Set<AnyPartialResponse>();

  look(value: unknown, asked: AskedFields, depth = 0): void {
    if (typeof value !== 'object' || value === null) return;

    if (Array.isArray(value)) this.lookInList(value, asked, depth);
    else if (isPartial(value)) this.lookInPage(value, asked);
    else if (isPlain(value)) this.lookInFields(value, asked);
  }

  private lookInList(values: readonly unknown[], asked: AskedFields, depth: number): void {
    if (depth < DEEPEST_LIST) for (const value of values) this.look(value, asked, depth + 1);
  }

  private lookInPage(page: AnyPartialResponse, asked: AskedFields): void {
    this.found.add(page);
    this.look(page.data, asked);
    this.look(page.toJSON(), asked);
  }

  private lookInFields(fields: Fields, asked: AskedFields): void {
    for (const [name, value] of objectsIn(fields, asked)) this.look(value, asked.byName.get(name) ?? NOTHING_ASKED);
  }
}

const NOTHING_ASKED = new AskedFields([], {});

/** What was asked for; and pages in any case, which the resolvers of other fields may be about to read. */
function objectsIn(fields: Fields, asked: AskedFields): (readonly [string, unknown])[] {
  return Object.keys(fields)
    .map((name) => [name, readable(fields, name)] as const)
    .filter(([name, one]) => typeof one === 'object' && (asked.byName.has(name) || isPartial(one)));
}

/** A field that cannot be read fails by itself when GraphQL comes to it. */
function readable(fields: Fields, name: string): unknown {
  try {
    return fields[name];
  } catch {
    return undefined;
  }
}

/**
 * A resolver's value in which each partial response has become its data: with an error in place of a section that is
 * missing and has nothing to show, which makes its field null and tells where it stands, if anybody has asked for it.
 */
export class PartialFields {
  constructor(
    private readonly info: GraphqlInfo,
    private readonly outlet: PartialOutlet,
  ) {}

  of(value: unknown): unknown {
    return this.at(value, [{ path: pathOf(this.info), nodes: this.info.fieldNodes ?? [] }]);
  }

  private at(value: unknown, places: readonly Place[], depth = 0): unknown {
    if (Array.isArray(value)) return depth < DEEPEST_LIST ? this.list(value as unknown[], places, depth) : value;
    if (isPartial(value)) return this.fieldsOf(value, places);

    return isPlain(value) ? this.envelope(value, places) : value;
  }

  private list(values: readonly unknown[], places: readonly Place[], depth: number): unknown {
    const sent = values.map((value, at) =>
      this.at(
        value,
        places.map(({ path, nodes }) => ({ path: [...path, at], nodes })),
        depth + 1,
      ),
    );

    return sent.every((one, at) => one === values[at]) ? values : sent;
  }

  /** Fields without a partial response in them are not touched. */
  private envelope(value: Fields, places: readonly Place[]): Fields {
    const nodes = places.flatMap((place) => place.nodes);
    const changed = objectsIn(value, new AskedFields(nodes, this.info)).flatMap(([name, before]) => {
      const after = this.at(before, this.below(places, name));
      return after === before ? [] : [[name, after] as const];
    });

    return changed.length === 0 ? value : withFields(value, changed);
  }

  /** What was made of it where it was reshaped. Its own fields can be asked for as well as those of its sections. */
  private fieldsOf(page: AnyPartialResponse, places: readonly Place[]): unknown {
    const body = page.toJSON();
    if (!isPlain(body)) return body;

    const missing = missingIn(page);
    const { data } = body;
    if (!isPlain(data) || body['partial'] !== page.partial || !Array.isArray(body['degraded'])) {
      return this.mark(body, missing, places);
    }

    return {
      ...body,
      data: this.mark(data, missing, this.below(places, 'data')),
      ...this.mark(data, missing, places),
    };
  }

  /** Where a section has kept its key. */
  private mark(fields: Fields, missing: ReadonlyMap<string, DegradedSection>, places: readonly Place[]): Fields {
    return mapValues(fields, (value, key) => {
      const section = missing.get(key);
      if (section === undefined) return this.at(value, this.below(places, key));
      if (value === null || value === undefined) return this.outlet.errorOf(section);

      for (const place of this.below(places, key)) this.outlet.note({ ...place, section });
      return value;
    });
  }

  private below(places: readonly Place[], key: string): Place[] {
    return places.flatMap(({ path, nodes }) =>
      [...selectionsOf(key, nodes, this.info)].map(([name, selected]) => ({ path: [...path, name], nodes: selected })),
    );
  }
}

type Fields = Readonly<Record<string, unknown>>;

/** By their keys. Data and timings are in the same order, and only the latter know what the sections are called. */
function missingIn({ data, degraded, timings }: AnyPartialResponse): Map<string, DegradedSection> {
  const keys = Object.keys(data as Fields);

  return new Map(
    degraded.flatMap((section) => {
      const key = keys[timings.findIndex((timing) => timing.section === section.section)];
      return key === undefined ? [] : [[key, section] as const];
    }),
  );
}

function mapValues(fields: Fields, change: (value: unknown, key: string) => unknown): Fields {
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, change(value, key)]));
}

/** A copy whose other fields are as they were, getters too. */
function withFields(fields: Fields, changed: readonly (readonly [string, unknown])[]): Fields {
  const copy = Object.create(Object.getPrototypeOf(fields) as object | null, Object.getOwnPropertyDescriptors(fields));
  for (const [name, value] of changed) Object.defineProperty(copy, name, { value, enumerable: true });

  return copy as Fields;
}

export function isPlain(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && isEnvelope(value);
}
