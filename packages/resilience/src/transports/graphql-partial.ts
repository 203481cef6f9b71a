import type { DegradedSection } from 'holdfast';
import { isEnvelope, isPartial, type AnyPartialResponse } from '../degradation/partial-answer.js';
import { pathOf, type GraphqlInfo, type Selection } from './graphql-call.js';
import { selectionsOf } from './graphql-selection.js';

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

  private at(value: unknown, places: readonly Place[]): unknown {
    if (Array.isArray(value)) return this.list(value as readonly unknown[], places);
    if (isPartial(value)) return this.fieldsOf(value, places);

    return isPlain(value) && Object.values(value).some(isPartial) ? this.envelope(value, places) : value;
  }

  private list(values: readonly unknown[], places: readonly Place[]): unknown {
    if (!values.some(isPartial)) return values;

    return values.map((value, at) =>
      this.at(
        value,
        places.map(({ path, nodes }) => ({ path: [...path, at], nodes })),
      ),
    );
  }

  private envelope(value: Fields, places: readonly Place[]): unknown {
    return mapValues(value, (one, key) => (isPartial(one) ? this.at(one, this.below(places, key)) : one));
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
    if (missing.size === 0) return fields;

    return mapValues(fields, (value, key) => {
      const section = missing.get(key);
      if (section === undefined) return value;
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

function isPlain(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && isEnvelope(value);
}
