/**
 * Validation of options: once, early, with the path of the option in front of the message.
 * Policies validate themselves when they are constructed; whoever reads options from a larger object
 * (presets, defaults, decorators) puts its own place in front with {@link withPath}.
 */

/** A `TypeError` that knows which option it is about. Not exported: users see a `TypeError`. */
export class OptionError extends TypeError {
  /** The path of the option, such as `presets.carrier.retry.attempts`; empty for a lone value. */
  readonly path: string;
  readonly #complaint: string;

  constructor(path: string, complaint: string) {
    super(path === '' ? complaint : `${path}: ${complaint}`);
    this.name = 'TypeError';
    this.path = path;
    this.#complaint = complaint;
  }

  /** The same complaint, seen from further outside. */
  under(prefix: string): OptionError {
    return new OptionError(joinPath(prefix, this.path), this.#complaint);
  }
}

/** Runs `read`, and puts `prefix` in front of the path of an option that it refuses. */
export function withPath<T>(prefix: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof OptionError ? error.under(prefix) : error;
  }
}

/** Refuses anything that is not a plain options object. */
export function requireObject(value: unknown, path: string, hint: string): void {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return;

  throw new OptionError(path, `expected an options object, got ${kindOf(value)}. ${hint}`);
}

/**
 * Refuses options that an object only inherits, such as getters and methods of its class: what reads fields one by one
 * sees them, and what copies an object loses them.
 */
export function refuseInherited(options: object, known: readonly string[], path = ''): void {
  if (inheritsNothing(options)) return;
  const key = known.find((name) => name in options && !Object.hasOwn(options, name));
  if (key === undefined) return;

  throw new OptionError(
    joinPath(path, key),
    'is inherited (a getter or method of a class?), and would be lost where options are copied. ' +
      'Make it a field of the options object itself.',
  );
}

/** Whether it is a plain object, and nobody has given a property to all objects. Most options are. */
function inheritsNothing(options: object): boolean {
  return Object.getPrototypeOf(options) === Object.prototype && Object.keys(Object.prototype).length === 0;
}

/**
 * Refuses keys that are not in `known`, and names the nearest one that is. Symbols are left alone. No value is shown: a
 * secret may stand under a misspelt name.
 */
export function rejectUnknown(options: object, known: readonly string[], path = ''): void {
  refuseInherited(options, known, path);
  const key = Object.keys(options).find((name) => !known.includes(name));
  if (key === undefined) return;

  throw new OptionError(joinPath(path, key), `unknown option. ${remedyFor(key, known)}`);
}

/** Whether the nearest of the known names is meant, or what there is. */
export function remedyFor(key: string, known: readonly string[]): string {
  const nearest = nearestName(key, known);

  return nearest === undefined ? `Known options: ${known.join(', ')}.` : `Did you mean "${nearest}"?`;
}

export interface CountBounds {
  readonly min: number;
  /** Whether `Infinity` (no limit) is a legal value. */
  readonly infinite?: boolean;
  readonly max?: number;
}

/** A whole number within bounds. */
export function requireCount(value: unknown, path: string, bounds: CountBounds): number {
  if (value === Infinity && bounds.infinite === true) return value;
  if (
    typeof value === 'number' &&
    Number.isInteger(value) &&
    value >= bounds.min &&
    value <= (bounds.max ?? Infinity)
  ) {
    return value;
  }

  const upper = bounds.max === undefined ? '' : ` and at most ${bounds.max}`;
  const infinite = bounds.infinite === true ? ', or Infinity' : '';
  throw new OptionError(
    path,
    `expected a whole number of at least ${bounds.min}${upper}${infinite}, got ${show(value)}.${unsetHint(value)}`,
  );
}

/** A percentage: above 0, at most 100. */
export function requirePercentage(value: unknown, path: string): number {
  if (typeof value === 'number' && value > 0 && value <= 100) return value;

  throw new OptionError(path, `expected a percentage above 0 and at most 100, got ${show(value)}.${unsetHint(value)}`);
}

/** A finite number of at least 1 by which something grows. */
export function requireFactor(value: unknown, path: string): number {
  if (typeof value === 'number' && Number.isFinite(value) && value >= 1) return value;

  throw new OptionError(path, `expected a finite number of at least 1, got ${show(value)}.${unsetHint(value)}`);
}

export function requireBoolean(value: unknown, path: string): boolean {
  if (typeof value === 'boolean') return value;

  throw new OptionError(path, `expected true or false, got ${show(value)}.`);
}

export function requireOneOf<T extends string>(value: unknown, path: string, choices: readonly T[]): T {
  if (choices.includes(value as T)) return value as T;

  const list = choices.map((choice) => `'${choice}'`).join(', ');
  throw new OptionError(path, `expected one of ${list}, got ${show(value)}.`);
}

export function requireName(value: unknown, path: string): string {
  if (typeof value === 'string' && value !== '') return value;

  throw new OptionError(path, `expected a name, a string that is not empty, got ${show(value)}.`);
}

/** `F` is what the option's type says; only that it is a function can be checked here. */
export function requireFunction<F>(value: F, path: string): F {
  if (typeof value === 'function') return value;

  throw new OptionError(path, `expected a function, got ${show(value)}.`);
}

/**
 * Turns what a user's predicate returned into a boolean. A predicate decides in the middle of an outcome, so it
 * cannot be waited for: a promise would count as true whatever it resolves to, and is refused.
 */
export function decision(answer: unknown, name: string): boolean {
  refusePromise(answer, name, 'true or false');

  return Boolean(answer);
}

/** Refuses a promise as the answer of a user's function, and takes care that its rejection is nobody's surprise. */
export function refusePromise(answer: unknown, name: string, expected: string): void {
  if ((typeof answer !== 'object' && typeof answer !== 'function') || answer === null) return;
  if (typeof (answer as PromiseLike<unknown>).then !== 'function') return;

  (answer as PromiseLike<unknown>).then(undefined, () => {});
  throw new OptionError('', `${name} returned a Promise. Return ${expected} from it, without waiting.`);
}

/** What numbers that are none usually come from: `Number(undefined)`, or a template with `undefined` in it. */
export function unsetHint(value: unknown): string {
  const isText = typeof value === 'string';
  const unset = isText ? /^(NaN|undefined|$)/.test(value) : value === undefined || Number.isNaN(value);

  return unset ? ' Does it come from an environment variable that is not set?' : '';
}

/** How a value is shown in a message: short, and telling `'5'` from `5`. */
export function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'function') return `function ${value.name || '(anonymous)'}`;
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value !== 'object' || value === null) return String(value);

  return Array.isArray(value) ? 'an array' : 'an object';
}

/**
 * What a value is, for a message that must not show it: a connection string, a key, or what somebody's customer has
 * ordered.
 */
export function kindOf(value: unknown): string {
  return typeof value === 'object' || value === undefined ? show(value) : `a ${typeof value}`;
}

/** The known name within two edits of `name`, if there is one. */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  let nearest: string | undefined;
  let distance = 3;
  for (const candidate of known) {
    const edits = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (edits < distance || (nearest === undefined && isPartOf(candidate, name))) {
      nearest = candidate;
      distance = Math.min(distance, edits);
    }
  }

  return nearest;
}

/** `maxAttempts` means `attempts`, `timeoutMs` means `timeout`. */
function isPartOf(candidate: string, name: string): boolean {
  return candidate.length >= 4 && name.toLowerCase().includes(candidate.toLowerCase());
}

/** Levenshtein's distance, with one row of memory. */
export function editDistance(a: string, b: string): number {
  const row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let line = 1; line <= a.length; line++) {
    let diagonal = row[0] as number;
    row[0] = line;
    for (let column = 1; column <= b.length; column++) {
      const above = row[column] as number;
      const substitution = diagonal + (a[line - 1] === b[column - 1] ? 0 : 1);
      row[column] = Math.min(above + 1, (row[column - 1] as number) + 1, substitution);
      diagonal = above;
    }
  }

  return row[b.length] as number;
}

function joinPath(prefix: string, path: string): string {
  if (prefix === '' || path === '') return prefix + path;

  return `${prefix}.${path}`;
}
