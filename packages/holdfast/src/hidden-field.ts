/** What a `WeakMap` offers, of one object at a time. */
export interface HiddenField<Owner extends object, Value> {
  of(owner: Owner): Value | undefined;
  /** Once for each owner. */
  give(owner: Owner, value: Value): void;
}

/** Its subclasses add their private fields to the object that they are given. */
class Given {
  constructor(owner: object) {
    return owner;
  }
}

/**
 * Remembers something about objects of other people, for as long as they live, without a trace that anybody could see:
 * also frozen ones. For objects that live as long as a request, this is what a `WeakMap` is too slow for: the collector
 * looks at each of its entries again and again (2 microseconds a request on Node 20).
 *
 * @internal
 */
export function hiddenField<Owner extends object, Value>(): HiddenField<Owner, Value> {
  return class Field extends Given {
    readonly #value: Value;

    static of(owner: Owner): Value | undefined {
      return #value in owner ? owner.#value : undefined;
    }

    static give(owner: Owner, value: Value): void {
      new Field(owner, value);
    }

    private constructor(owner: Owner, value: Value) {
      super(owner);
      this.#value = value;
    }
  };
}
