import type { ResiliencePolicy } from 'holdfast';
import { parseDuration, show } from 'holdfast/binding';
import type { NamedStage } from './entrypoint/merge-stages.js';
import { isMisspelt } from './misspelt.js';
import { given } from './stage-options.js';

/** A use of a name, which may also say how that policy is configured. */
export interface Declaration<Options> extends NamedStage<Options> {
  /** Where it was written, such as `presets.carrier` or `ShippingController.getQuotes`. */
  readonly place: string;
  /** The class whose handler it belongs to, when nothing but the handler gives the name. */
  readonly owner?: Function | undefined;
}

/** What kind of policy is kept, and how one is made. */
export interface PolicyKind<Options, Policy> {
  /** As messages call it, such as `circuit breaker`. */
  readonly noun: string;
  /** Where there are no default settings: an example of how it is configured. */
  readonly needsOptions?: string;
  create(name: string, options: Omit<Options, 'name'> | undefined): Policy;
}

interface Entry<Options, Policy> {
  definition: Declaration<Options> | undefined;
  readonly firstUse: Declaration<Options>;
  usedTwice: boolean;
  policy: Policy | undefined;
}

/** The breakers, bulkheads or rate limits of one application, by name. All are declared before the first is made. */
export class NamedPolicies<Options, Policy extends ResiliencePolicy> {
  readonly #kind: PolicyKind<Options, Policy>;
  readonly #entries = new Map<string, Entry<Options, Policy>>();
  readonly #created: Policy[] = [];

  constructor(kind: PolicyKind<Options, Policy>) {
    this.#kind = kind;
  }

  /** @throws Error when the same name is configured in another way, or comes too late. */
  declare(declaration: Declaration<Options>): void {
    const entry = this.#entries.get(declaration.name);
    if (entry === undefined) {
      const definition = declaration.defines ? declaration : undefined;
      this.#entries.set(declaration.name, { definition, firstUse: declaration, usedTwice: false, policy: undefined });
      return;
    }

    if (declaration.defines) this.#define(entry, declaration);
    if (entry.firstUse.setting !== declaration.setting) entry.usedTwice = true;
  }

  /** The policy of that name, made when it is needed for the first time. */
  get(name: string): Policy {
    const entry = this.#entries.get(name);
    if (entry === undefined) throw this.unknown(name);
    if (entry.policy === undefined) {
      this.#requireOptions(name, entry);
      entry.policy = this.#kind.create(name, entry.definition?.options);
      this.#created.push(entry.policy);
    }

    return entry.policy;
  }

  /** Those made so far, in the order in which they were made. */
  created(): Policy[] {
    return [...this.#created];
  }

  /** How it was configured, if it was. */
  optionsOf(name: string): Omit<Options, 'name'> | undefined {
    return this.#entries.get(name)?.definition?.options;
  }

  unknown(name: string): Error {
    return new Error(`Unknown ${this.#kind.noun} "${name}". Known: ${list(this.#entries.keys())}.`);
  }

  /**
   * Looks at the names that nobody configures.
   *
   * @throws Error when one is refused: any of them when `strict` or when there are no default settings, otherwise one
   * that must be a slip of the pen.
   * @returns a warning for each that is used a single time, and so may be a slip of the pen.
   */
  checkNames(strict: boolean): string[] {
    const warnings: string[] = [];
    for (const [name, entry] of this.#entries) {
      if (entry.definition !== undefined) continue;

      const warning = this.checkName(name, strict);
      if (warning !== undefined) warnings.push(warning);
    }

    return warnings;
  }

  /** The same for one name. */
  checkName(name: string, strict: boolean): string | undefined {
    const entry = this.#entries.get(name);
    if (entry === undefined || entry.definition !== undefined) return undefined;

    this.#requireOptions(name, entry);
    const { place } = entry.firstUse;
    const text = this.#unconfigured(name, place);
    const known = `Configured: ${list(this.#configured())}.`;
    if (strict) throw new Error(`${text} ${known} Configure it in a preset or where it is used; strictNames is on.`);
    if (entry.usedTwice) return undefined;

    const meant = this.#meantBy(name);
    if (meant === undefined) return `${text} It gets the default settings. ${known}`;

    throw this.#misspelt(name, place, meant);
  }

  /**
   * Looks at a use that comes after bootstrap, before it is declared: a refused name is not known from then on.
   *
   * @throws Error when the name is new, not configured, and must be a slip of the pen.
   */
  checkLateUse({ name, defines }: NamedStage<Options>, place: string): void {
    if (defines || this.#entries.has(name)) return;

    const meant = this.#meantBy(name);
    if (meant !== undefined) throw this.#misspelt(name, place, meant);
  }

  #meantBy(name: string): string | undefined {
    return this.#configured().find((candidate) => isMisspelt(name, candidate));
  }

  #unconfigured(name: string, place: string): string {
    return `${capitalized(this.#kind.noun)} "${name}", used by ${place}, is configured nowhere.`;
  }

  #misspelt(name: string, place: string, meant: string): Error {
    return new Error(
      `${this.#unconfigured(name, place)} Did you mean "${meant}"? If not, choose a name that is less like it, or ` +
        'configure it.',
    );
  }

  #requireOptions(name: string, { definition, firstUse }: Entry<Options, Policy>): void {
    const { noun, needsOptions } = this.#kind;
    if (needsOptions === undefined || definition !== undefined) return;

    throw new Error(
      `${capitalized(noun)} "${name}", used by ${firstUse.place}, has no configuration. ` +
        `Give it one in a preset, or where it is used: ${needsOptions}.`,
    );
  }

  #define(entry: Entry<Options, Policy>, declaration: Declaration<Options>): void {
    const { definition } = entry;
    if (definition === undefined) {
      this.#refuseLate(entry, declaration);
      entry.definition = declaration;
      return;
    }

    if (definition.owner !== undefined && declaration.owner !== undefined && definition.owner !== declaration.owner) {
      throw new Error(
        `Two classes are called ${declaration.owner.name}, and ${declaration.place} of both has a ${this.#kind.noun} ` +
          'without a name, which would be one and the same. Give one of them a name, or rename the class.',
      );
    }
    const difference = differenceOf(definition.options, declaration.options);
    if (difference === undefined) return;

    const [option, one, other] = difference;
    throw new Error(
      `${capitalized(this.#kind.noun)} "${declaration.name}" is configured in two different ways: ` +
        `${option} is ${one} in ${definition.place} and ${other} in ${declaration.place}. ` +
        'Make both the same, or give one of them a name of its own.',
    );
  }

  #refuseLate({ policy, firstUse }: Entry<Options, Policy>, declaration: Declaration<Options>): void {
    const [option, value] = Object.entries(given(declaration.options))[0] ?? [];
    if (policy === undefined || option === undefined) return;

    throw new Error(
      `${capitalized(this.#kind.noun)} "${declaration.name}" is configured by ${declaration.place} ` +
        `(${option}: ${describe(value)}), but ${firstUse.place} has already created it with the default settings. ` +
        'Configure it in a preset, or build that policy later, in onModuleInit() of its service.',
    );
  }

  #configured(): string[] {
    return [...this.#entries].filter(([, { definition }]) => definition !== undefined).map(([name]) => name);
  }
}

function list(names: Iterable<string>): string {
  return [...names].join(', ') || '(none)';
}

function capitalized(noun: string): string {
  return noun.charAt(0).toUpperCase() + noun.slice(1);
}

/** The first option in which two configurations differ, with both values as text. */
function differenceOf(one: object, other: object): readonly [string, string, string] | undefined {
  const a = one as Readonly<Record<string, unknown>>;
  const b = other as Readonly<Record<string, unknown>>;
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    if (!isSame(a[key], b[key])) return [key, describe(a[key]), describe(b[key])];
  }

  return undefined;
}

/** Structural; durations by what they mean, functions by identity, and `undefined` is the same as absent. */
function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one === 'string' || typeof other === 'string') return isSameDuration(one, other);
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;

  return differenceOf(one, other) === undefined;
}

function isSameDuration(one: unknown, other: unknown): boolean {
  try {
    return parseDuration(one, '') === parseDuration(other, '');
  } catch {
    return false;
  }
}

function describe(value: unknown): string {
  if (value === undefined) return 'not set';

  return typeof value === 'object' ? JSON.stringify(value) : show(value);
}
