import { degradedHeaders, type DegradedSection } from 'holdfast';
import type { DegradedSettings } from '../degradation/degraded-options.js';

/** An error of GraphQL that knows its place in the answer. */
export interface PlacedError {
  toJSON(): object;
}

/** What is to be said of one operation's answer, beside what its resolvers return. */
interface Notes {
  readonly errors: PlacedError[];
  readonly degraded: DegradedSection[];
}

/** As Apollo Server calls it when an answer is about to leave. */
export interface ApolloAnswer {
  readonly contextValue: unknown;
  readonly response: {
    readonly http: { readonly headers: { set(name: string, value: string): unknown } };
    readonly body:
      | { readonly kind: 'single'; readonly singleResult: { errors?: readonly object[] } }
      | { readonly kind: 'incremental'; readonly initialResult: { errors?: readonly object[] } };
  };
}

interface MercuriusContext {
  errors?: readonly PlacedError[] | null;
}

/**
 * Errors beside fields that have a value all the same. A resolver's own error replaces its value, so that those need
 * the server's help: Mercurius takes them in the context, and Apollo Server asks its plugins.
 */
export class GraphqlNotes {
  private readonly notes = new WeakMap<object, Notes>();

  constructor(private readonly settings: DegradedSettings) {}

  addError(operation: object, error: PlacedError): void {
    const { errors } = operation as MercuriusContext;
    if (errors === null || Array.isArray(errors)) (operation as MercuriusContext).errors = [...(errors ?? []), error];
    else this.of(operation).errors.push(error);
  }

  /** For an answer whose headers only the server can reach. */
  addDegraded(operation: object, degraded: readonly DegradedSection[]): void {
    this.of(operation).degraded.push(...degraded);
  }

  /** Of Apollo Server. */
  writeInto({ contextValue, response }: ApolloAnswer): void {
    const notes = this.notes.get(contextValue as object);
    if (notes === undefined) return;

    const { header: name, cacheControl } = this.settings;
    for (const [key, value] of Object.entries(degradedHeaders(notes.degraded, { name, cacheControl }))) {
      response.http.headers.set(key, value);
    }
    if (notes.errors.length === 0) return;

    const { body } = response;
    const result = body.kind === 'single' ? body.singleResult : body.initialResult;
    result.errors = [...(result.errors ?? []), ...notes.errors.map((error) => error.toJSON())];
  }

  private of(operation: object): Notes {
    const notes = this.notes.get(operation) ?? { errors: [], degraded: [] };
    this.notes.set(operation, notes);

    return notes;
  }
}
