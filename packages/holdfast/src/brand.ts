/**
 * Marks a class by a registered symbol, so that `instanceof` holds across two copies of the package in one process.
 * What users derive from it is recognised by its prototype.
 */
export function brand(owner: { readonly prototype: object }, mark: symbol): void {
  Object.defineProperty(owner.prototype, mark, { value: true });
  // No static method of the class: with one of that name V8 leaves its fast path for every error that is made.
  Object.defineProperty(owner, Symbol.hasInstance, {
    value(this: object, value: unknown): boolean {
      return this === owner ? hasBrand(value, mark) : derives(value, this);
    },
  });
}

/** Anything may be looked at, also a proxy that does not let itself be: that is none of ours. */
export function hasBrand(value: unknown, mark: symbol): boolean {
  if (typeof value !== 'object' || value === null) return false;
  try {
    return (value as Record<symbol, unknown>)[mark] === true;
  } catch {
    return false;
  }
}

function derives(value: unknown, owner: object): boolean {
  return Function.prototype[Symbol.hasInstance].call(owner as never, value);
}
