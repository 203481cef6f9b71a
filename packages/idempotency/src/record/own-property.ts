/** Sets a property of the object itself, also one named `__proto__`, which an assignment takes for the prototype. */
export function setOwn(target: object, name: string | number, value: unknown): void {
  if (name !== '__proto__') {
    (target as Record<string | number, unknown>)[name] = value;
  } else {
    Object.defineProperty(target, name, { value, enumerable: true, writable: true, configurable: true });
  }
}
