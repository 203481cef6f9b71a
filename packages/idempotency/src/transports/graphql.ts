import { IntrinsicException, type ExecutionContext } from '@nestjs/common';
import type { GraphQLResolveInfo } from 'graphql';
import {
  degradedMarksOf,
  fieldErrors,
  infoOf,
  isSubscribing,
  markOperation,
  operationOf,
  PeerPackage,
  rawRequestsIn,
  type GraphqlInfo,
  type HandlerKinds,
} from 'holdfast/nest';
import { binding } from '../binding.js';
import type { IdempotencyRejectedError } from '../execution/rejection.js';
import { headerKey, readKey, type KeyReading } from '../key/idempotency-key.js';
import { NotStorableError } from '../record/stored-value.js';
import { settingFor, type HandlerSettings, type ModuleSettings } from '../settings.js';
import type { IdempotencyKeySource } from '../idempotency.options.js';
import type { IdempotencyStoredResponse } from '../store.js';
import { storedFieldError } from './graphql-error.js';
import { callsAbove, fieldPlace } from './graphql-place.js';
import { KeptField, revive, type FailedField } from './graphql-types.js';
import { replayedHttpError } from './http-error.js';
import { headerLines, type HttpRequest } from './http-exchange.js';
import { keptMarks } from './kept-marks.js';
import { isGiven, keyBySetting, valueAt } from './key-source.js';
import type { CalledHandler, Outcome, Transport, Unstorable } from './transport.js';

const SUCCESS = 200;
const KEY_ARGUMENT = 'idempotencyKey';

/** Resolvers of fields get the parent, the arguments, the context and the information; those of references no arguments. */
const FIELD_ARGUMENTS = 4;
const ARGUMENTS = 1;

const FieldError = fieldErrors(IntrinsicException);

/** The part of an operation's context in which applications keep who asks. */
interface OperationContext {
  readonly req?: unknown;
  readonly request?: unknown;
  readonly reply?: { readonly request?: unknown };
  readonly user?: unknown;
}

/** GraphQL on any driver: each field is a call of its own, in an answer that is 200 as a whole. */
export class GraphqlTransport implements Transport {
  readonly context = 'graphql';
  readonly answersOnce = true;
  private readonly batches = new WeakMap<object, Map<string, object[]>>();
  private readonly graphql = new PeerPackage({
    name: 'graphql',
    binding,
    bundled: () => import('graphql').catch(() => undefined),
  });

  constructor(private readonly settings: Pick<ModuleSettings, 'header'>) {}

  async prepare(kinds: readonly HandlerKinds[]): Promise<void> {
    if (kinds.some(({ graphql }) => graphql !== undefined)) await this.graphql.load();
  }

  /** A mutation's root field, whatever the schema calls its type: all other fields only read. */
  isCoveredByClass(context: ExecutionContext): boolean {
    const { path, parentType, schema } = fieldOf(context);

    return path.prev === undefined && parentType.name === schema.getMutationType()?.name;
  }

  whyUnprotected(context: ExecutionContext): string | undefined {
    if (context.getArgs<unknown[]>().length < FIELD_ARGUMENTS) return 'a reference is looked up for others';

    return isSubscribing(infoOf(context)) ? 'a stream of events cannot be replayed' : undefined;
  }

  keyOf(execution: ExecutionContext, settings: HandlerSettings): KeyReading | Promise<KeyReading> {
    const args = argumentsOf(execution);
    const places = {
      header: (name: string): KeyReading => headerKey(headersOf(execution, name)),
      arg: (path: string): unknown => valueAt(args, path),
    };
    const found = keyBySetting(settings, { places, context: this.context, execution });
    if (found !== undefined) return found;

    const inArguments = valueAt(args, KEY_ARGUMENT);
    return isGiven(inArguments) ? readKey(inArguments) : places.header(this.settings.header);
  }

  scopeSourceOf(context: ExecutionContext): unknown {
    return requestIn(contextOf(context));
  }

  /** Guards leave it at the request, and functions that make the context beside it. */
  userOf(context: ExecutionContext): unknown {
    const operation = contextOf(context);
    const request = requestIn(operation) as { readonly user?: unknown } | undefined | null;

    return request?.user ?? operation.user;
  }

  identityOf(context: ExecutionContext): readonly string[] {
    const info = fieldOf(context);

    return ['graphql', `${info.parentType.name}.${info.fieldName}`, ...callsAbove(info as GraphqlInfo)];
  }

  payloadOf(context: ExecutionContext): unknown {
    return argumentsOf(context);
  }

  /** A key in an argument is that of its field alone; one of the whole request is for all that it asks for. */
  placeOf(context: ExecutionContext, { settings }: CalledHandler): string {
    const info = fieldOf(context) as GraphqlInfo;
    if (hasKeyOfItsOwn(context, settings)) return fieldPlace(info, { tellsTwins: false });

    const place = fieldPlace(info, { tellsTwins: true });
    const index = this.indexInBatch(context, place);
    return index === 0 ? place : `${place}~~${index}`;
  }

  async store(outcome: Outcome, context: ExecutionContext): Promise<IdempotencyStoredResponse | Unstorable> {
    // GraphQL takes an error that is returned for one that was thrown.
    const error = outcome.kind === 'error' ? outcome.error : outcome.value;
    try {
      if (outcome.kind === 'error' || error instanceof Error) return storedFieldError(error);

      const body = await new KeptField(fieldOf(context), operationOf(context)).encode(outcome.value);
      const marks = keptMarks(degradedMarksOf(context));
      return { status: SUCCESS, headers: {}, ...(body === undefined ? {} : { body }), ...marks };
    } catch (problem) {
      if (problem instanceof NotStorableError) return { unstorable: `gave what cannot be kept: ${problem.message}` };
      throw problem;
    }
  }

  replay(stored: IdempotencyStoredResponse, context: ExecutionContext): unknown {
    if (stored.error === 'graphql') throw this.failed(stored.body as FailedField);
    if (stored.error !== undefined) throw replayedHttpError(stored);

    const { degraded } = stored;
    // Beside those of other fields, which have run or were replayed.
    if (degraded !== undefined) markOperation(contextOf(context), () => degraded, stored);
    return revive(stored.body, fieldOf(context), (field) => this.failed(field));
  }

  reject(rejection: IdempotencyRejectedError): unknown {
    const { message, code, status, retryAfterSeconds } = rejection;
    const retryAfter = retryAfterSeconds === undefined ? {} : { retryAfter: retryAfterSeconds };

    return new FieldError(message, {
      originalError: rejection,
      extensions: { code, httpStatus: status, ...retryAfter },
    });
  }

  private failed({ message, extensions = {} }: FailedField): Error {
    const { module } = this.graphql;
    if (module !== undefined) return new module.GraphQLError(message, { extensions });

    return new FieldError(message, { originalError: new Error(message), extensions });
  }

  /**
   * Which of the operations that came in one request this one is, of those with a field at this place, in the order in
   * which they get there: all have the request's key.
   */
  private indexInBatch(context: ExecutionContext, place: string): number {
    const operation = contextOf(context);
    const request = requestIn(operation) as (object & { readonly body?: unknown }) | undefined | null;
    if (!Array.isArray(request?.body)) return 0;

    const places = this.batches.get(request) ?? new Map<string, object[]>();
    this.batches.set(request, places);
    const operations = places.get(place) ?? [];
    places.set(place, operations);
    if (!operations.includes(operation)) operations.push(operation);

    return operations.indexOf(operation);
  }
}

function fieldOf(context: ExecutionContext): GraphQLResolveInfo {
  return infoOf(context) as unknown as GraphQLResolveInfo;
}

function contextOf(context: ExecutionContext): OperationContext {
  return operationOf(context) ?? {};
}

function argumentsOf(context: ExecutionContext): unknown {
  return context.getArgByIndex(ARGUMENTS);
}

function requestIn({ req, request, reply }: OperationContext): unknown {
  return req ?? request ?? reply?.request;
}

/** A WebSocket was asked for long before the operations on it, which have no headers of their own. */
function headersOf(context: ExecutionContext, name: string): readonly string[] | undefined {
  const request = rawRequestsIn(contextOf(context)).find(hasHeaders);

  return request === undefined || request.headers.upgrade !== undefined ? undefined : headerLines(request, name);
}

function hasHeaders(request: unknown): request is HttpRequest {
  const headers = (request as Partial<HttpRequest> | undefined | null)?.headers;

  return typeof headers === 'object' && headers !== null;
}

function hasKeyOfItsOwn(context: ExecutionContext, { keyFrom }: HandlerSettings): boolean {
  const source = settingFor<IdempotencyKeySource>(keyFrom, 'graphql');
  if (source === undefined) return isGiven(valueAt(argumentsOf(context), KEY_ARGUMENT));

  return typeof source === 'object' && 'arg' in source;
}
