interface FieldErrorOptions {
  readonly originalError: Error;
  /** Not with `http`: servers apply that to the whole answer, of which only one field has failed. */
  readonly extensions: Readonly<Record<string, unknown>>;
}

/** An error of a field, whatever copy of `graphql` makes its answer. */
export type FieldErrorClass = new (message: string, options: FieldErrorOptions) => Error;

// TypeScript takes a class to extend with these parameters only.
// oxlint-disable-next-line typescript/no-explicit-any
type IntrinsicExceptionClass = new (...given: any[]) => Error;

/**
 * A class of what every copy of `graphql` makes a GraphQL error of, with the place in the answer and these extensions. One
 * of its own errors would be logged by Nest, with all that it has, each time that a field fails; intrinsic exceptions
 * are not.
 *
 * @param base `IntrinsicException` of the binding's `@nestjs/common`.
 */
export function fieldErrors(base: IntrinsicExceptionClass): FieldErrorClass {
  return class FieldError extends base {
    override readonly name = 'GraphQLError';
    readonly originalError: Error;
    readonly extensions: Readonly<Record<string, unknown>>;

    constructor(message: string, { originalError, extensions }: FieldErrorOptions) {
      super(message, { cause: originalError });
      this.originalError = originalError;
      this.extensions = extensions;
      withoutStack(this);
    }
  };
}

/** Some servers show stacks, and that of an error of ours begins with its name. */
export function withoutStack<E extends Error>(error: E): E {
  Object.defineProperty(error, 'stack', {
    value: `${error.name}: ${error.message}`,
    configurable: true,
    writable: true,
  });

  return error;
}
