import type { GraphQLResolveInfo } from 'graphql';
import { isThenable } from 'holdfast/binding';
import { AskedFields, type GraphqlInfo } from 'holdfast/nest';
import { setOwn } from '../record/own-property.js';
import { encodeValue, encodedMembers, NotStorableError } from '../record/stored-value.js';

/** What is used of the types of a schema, which may be of any copy of `graphql`. */
interface SchemaType {
  readonly name: string;
  /** Of lists and of what is never null. */
  readonly ofType?: SchemaType;
  getFields?(): Readonly<Record<string, { readonly type: unknown; readonly resolve?: unknown }>>;
  resolveType?: ((value: unknown, ...rest: unknown[]) => unknown) | null | undefined;
  isTypeOf?: ((value: unknown, ...rest: unknown[]) => unknown) | null | undefined;
}

type Kind = 'list' | 'never null' | 'abstract' | 'object' | 'leaf';

const KINDS: Readonly<Record<string, Kind>> = {
  GraphQLList: 'list',
  GraphQLNonNull: 'never null',
  GraphQLUnionType: 'abstract',
  GraphQLInterfaceType: 'abstract',
  GraphQLObjectType: 'object',
};

function kindOf(type: SchemaType): Kind {
  return KINDS[Object.prototype.toString.call(type).slice('[object '.length, -1)] ?? 'leaf';
}

const TYPE_NAME = '__typename';
/** In place of an error that stands where a value should be. GraphQL keeps names with two underscores for itself. */
const FAILED_FIELD = '__idempotencyFailedField';

const DEEP = { deep: true } as const;

/** A value, what it should be, and what was asked for of it; `undefined` for nothing. */
interface Found {
  readonly type: SchemaType;
  readonly value: unknown;
  readonly asked: AskedFields | undefined;
}

/** The error of one field, beside others that have values. */
export interface FailedField {
  readonly message: string;
  readonly extensions?: Readonly<Record<string, unknown>>;
}

/**
 * Completes what is kept of the value of a field by what its schema says of it: objects of unions and interfaces get the
 * name of their type, since a copy has no class from which it could be told; and fields that were asked for and that JSON
 * does not show, such as getters, are added.
 */
export class KeptField {
  constructor(
    private readonly info: GraphQLResolveInfo,
    /** What resolvers of types are given beside the value. */
    private readonly operation: object | undefined,
  ) {}

  /** @throws NotStorableError for what a copy would answer otherwise. */
  async encode(value: unknown): Promise<unknown> {
    const { returnType, fieldNodes } = this.info;
    const asked = new AskedFields(fieldNodes, this.info as GraphqlInfo);

    return await this.complete({ type: returnType as unknown as SchemaType, value, asked }, encodeValue(value, DEEP));
  }

  /** @param encoded Plain JSON, which is written into. */
  private async complete(found: Found, encoded: unknown): Promise<unknown> {
    const { type, value } = found;
    if (value instanceof Error) return { [FAILED_FIELD]: failedField(value) };
    const kind = kindOf(type);
    if (typeof value !== 'object' || value === null || kind === 'leaf') return encoded;
    if (kind === 'never null') return await this.complete({ ...found, type: type.ofType as SchemaType }, encoded);

    const members = encodedMembers(encoded);
    if (kind === 'list') {
      await this.completeList(found, members);
    } else if (members === undefined || Array.isArray(members)) {
      throw new NotStorableError(`is a ${type.name} whose JSON has no fields`);
    } else {
      await this.completeObject(found, members);
    }

    return encoded;
  }

  private async completeList({ type, value, asked }: Found, members: object | undefined): Promise<void> {
    if (!Array.isArray(members) || !(Symbol.iterator in (value as object))) return;

    const items = [...(value as Iterable<unknown>)];
    for (const [index, item] of items.entries()) {
      const found = { type: type.ofType as SchemaType, value: item, asked };
      members[index] = await this.complete(found, members[index]);
    }
  }

  private async completeObject({ type, value, asked }: Found, members: object): Promise<void> {
    const object = kindOf(type) === 'object' ? type : await this.typeOf(type, value as object, members);
    for (const [name, field] of Object.entries(object?.getFields?.() ?? {})) {
      const kept = Object.hasOwn(members, name) ? (members as Record<string, unknown>)[name] : undefined;
      const askedOfField = asked?.byName.get(name);
      // A getter may lead from one to the next for ever: the client has not.
      if (kept === undefined && askedOfField === undefined) continue;

      const found = read(value as object, name);
      if (typeof found === 'function') refuseMethod(name, field.resolve);
      const encoded = kept ?? (typeof found === 'function' ? undefined : encodeValue(found, DEEP));
      if (encoded === undefined) continue;

      const of = { type: field.type as SchemaType, value: found, asked: askedOfField };
      setOwn(members, name, await this.complete(of, encoded));
    }
  }

  /** The type of an object, which is written beside its fields. */
  private async typeOf(abstract: SchemaType, value: object, members: object): Promise<SchemaType | undefined> {
    const name = await this.nameOfType(abstract, value);
    const type = typeof name === 'string' ? this.info.schema.getType(name) : undefined;
    if (type === undefined) return undefined;

    setOwn(members, TYPE_NAME, name);
    return type as unknown as SchemaType;
  }

  /** As GraphQL finds it. What fails here fails there as well, and for the client to see. */
  private async nameOfType(abstract: SchemaType, value: object): Promise<unknown> {
    const asked = [value, this.operation, this.info, abstract] as const;
    try {
      if (typeof abstract.resolveType === 'function') return await settled(abstract.resolveType(...asked));

      const named = read(value, TYPE_NAME);
      if (typeof named === 'string') return named;
      for (const type of this.info.schema.getPossibleTypes(abstract as never)) {
        const { name, isTypeOf } = type as unknown as SchemaType;
        if ((await settled(isTypeOf?.(value, this.operation, this.info))) === true) return name;
      }
    } catch {
      // The name stays unknown.
    }

    return undefined;
  }
}

/** Most answer at once. */
function settled(answer: unknown): unknown {
  return isThenable(answer) ? Promise.resolve(answer) : answer;
}

function read(value: object, name: string): unknown {
  try {
    return (value as Readonly<Record<string, unknown>>)[name];
  } catch {
    return undefined;
  }
}

/** Without a resolver of its own, GraphQL calls it for the field's value; a copy has none. */
function refuseMethod(name: string, resolve: unknown): void {
  if (resolve !== undefined && resolve !== null) return;

  throw new NotStorableError(`answers the field "${name}" with a method`);
}

function failedField(error: Error): unknown {
  const { message, extensions } = error as Error & { readonly extensions?: unknown };

  return encodeValue(extensions === undefined ? { message } : { message, extensions });
}

/** Objects of replays, and the names of their types. */
const replayed = new WeakMap<object, string>();
const taught = new WeakSet<SchemaType>();

/**
 * Makes a kept value fit for its schema again: types that tell their objects by class take the word of the record, and
 * fields that had failed fail again.
 *
 * @param fail Makes the error of a field.
 */
export function revive(value: unknown, info: GraphQLResolveInfo, fail: (field: FailedField) => Error): unknown {
  const { schema } = info;

  function visit(type: SchemaType, found: unknown): unknown {
    if (typeof found !== 'object' || found === null) return found;
    if (Object.hasOwn(found, FAILED_FIELD)) {
      return fail((found as Record<string, unknown>)[FAILED_FIELD] as FailedField);
    }
    const kind = kindOf(type);
    if (kind === 'leaf') return found;
    if (kind === 'never null') return visit(type.ofType as SchemaType, found);
    if (kind === 'list') return visitList(type.ofType as SchemaType, found);

    const object =
      kind === 'object' ? type : (schema.getType(String(read(found, TYPE_NAME))) as SchemaType | undefined);
    if (object === undefined) return found;
    replayed.set(found, object.name);
    teach(type);
    teach(object);
    visitFields(object, found as Record<string, unknown>);
    return found;
  }

  function visitList(type: SchemaType, found: object): unknown {
    if (!(Symbol.iterator in found)) return found;

    return Array.from(found as Iterable<unknown>, (item) => visit(type, item));
  }

  function visitFields(type: SchemaType, found: Record<string, unknown>): void {
    for (const [name, field] of Object.entries(type.getFields?.() ?? {})) {
      if (Object.hasOwn(found, name)) setOwn(found, name, visit(field.type as SchemaType, found[name]));
    }
  }

  return visit(info.returnType as unknown as SchemaType, value);
}

/** Applications tell types by `instanceof`, which a copy cannot satisfy. */
function teach(type: SchemaType): void {
  if (taught.has(type)) return;

  taught.add(type);
  const { resolveType, isTypeOf } = type;
  if (typeof resolveType === 'function') {
    type.resolveType = (value, ...rest) => replayed.get(value as object) ?? resolveType.call(type, value, ...rest);
  }
  if (typeof isTypeOf === 'function') {
    type.isTypeOf = (value, ...rest) =>
      replayed.get(value as object) === type.name || isTypeOf.call(type, value, ...rest);
  }
}
