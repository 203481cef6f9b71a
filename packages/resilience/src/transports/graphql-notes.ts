import { degradedMarksOf } from 'holdfast/nest';

/** An error of GraphQL that knows its place in the answer. */
export interface PlacedError {
  toJSON(): object;
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
  private readonly errors = new WeakMap<object, PlacedError[]>();

  addError(operation: object, error: PlacedError): void {
    const { errors } = operation as MercuriusContext;
    if (errors === null || Array.isArray(errors)) (operation as MercuriusContext).errors = [...(errors ?? []), error];
    else this.errors.set(operation, [...(this.errors.get(operation) ?? []), error]);
  }

  /** Of Apollo Server: also the marks of an answer whose headers only the server can reach. */
  writeInto({ contextValue, response }: ApolloAnswer): void {
    const operation = contextValue as object;
    for (const [name, value] of Object.entries(degradedMarksOf(operation) ?? {})) {
      response.http.headers.set(name, [value].flat().join(', '));
    }
    const errors = this.errors.get(operation);
    if (errors === undefined) return;

    const { body } = response;
    const result = body.kind === 'single' ? body.singleResult : body.initialResult;
    result.errors = [...(result.errors ?? []), ...errors.map((error) => error.toJSON())];
  }
}
