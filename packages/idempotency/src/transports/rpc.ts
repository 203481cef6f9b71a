import type { ExecutionContext } from '@nestjs/common';
import {
  grpcCallOf,
  messageHeaderValues,
  passedThroughCallOf,
  payloadMetadata,
  type HandlerKinds,
  type RpcExceptions,
} from 'holdfast/nest';
import type { IdempotencyRejectedError } from '../execution/rejection.js';
import type { IdempotencyErrorCode } from '../idempotency.events.js';
import { canonicalText } from '../key/canonical-text.js';
import { headerKey, readKey, type KeyReading } from '../key/idempotency-key.js';
import { encodeValue, NotStorableError } from '../record/stored-value.js';
import type { HandlerSettings, ModuleSettings } from '../settings.js';
import type { IdempotencyStoredResponse } from '../store.js';
import { replayedHttpError } from './http-error.js';
import { isGiven, keyBySetting, valueAt } from './key-source.js';
import { replayedPayload, storedMessageError } from './rpc-error.js';
import type { CalledHandler, Outcome, Transport, Unstorable } from './transport.js';

/** Handlers get the data, the context of their transport or the metadata of gRPC, and there the call. */
const DATA = 0;
const MESSAGE = 1;
const CALL = 2;

const SUCCESS = 200;
const KEY_PROPERTY = 'idempotencyKey';

const PATTERN = 'microservices:pattern';
const HANDLER_TYPE = 'microservices:handler_type';
const EVENT = 2;

/** The trailing metadata in which callers of gRPC find what other transports send as the payload, as JSON. */
const ERROR_METADATA = 'x-idempotency-error';

/** The statuses of gRPC that clients and proxies act upon: only what is aborted or unavailable is worth trying again. */
const GRPC_STATUSES: Readonly<Record<IdempotencyErrorCode, number>> = {
  IDEMPOTENCY_KEY_REQUIRED: 3,
  IDEMPOTENCY_KEY_INVALID: 3,
  IDEMPOTENCY_KEY_IN_USE: 10,
  IDEMPOTENCY_KEY_REUSED: 9,
  IDEMPOTENCY_RECORD_UNREADABLE: 13,
  IDEMPOTENCY_SCOPE_MISSING: 13,
  IDEMPOTENCY_STORE_UNAVAILABLE: 14,
};

/** Where contexts of transports say which message came. */
interface MessageContext {
  getPattern?(): unknown;
  getSubject?(): unknown;
  getTopic?(): unknown;
  getChannel?(): unknown;
}

/** Messages and events of any microservice transport. */
export class RpcTransport implements Transport {
  readonly context = 'rpc';
  /** Handlers may stream, and each value leaves as it comes. */
  readonly answersOnce = false;

  constructor(
    private readonly settings: Pick<ModuleSettings, 'header'>,
    private readonly exceptions: RpcExceptions,
  ) {}

  prepare(kinds: readonly HandlerKinds[]): Promise<void> {
    return this.exceptions.prepare(kinds);
  }

  isCoveredByClass(): boolean {
    return true;
  }

  whyUnprotected(context: ExecutionContext): string | undefined {
    if (passedThroughCallOf(context) !== undefined) return 'the handler answers its call by itself';

    return isObservable(context.getArgByIndex(DATA))
      ? 'a stream of requests cannot be compared with another'
      : undefined;
  }

  keyOf(execution: ExecutionContext, settings: HandlerSettings): KeyReading | Promise<KeyReading> {
    const data: unknown = execution.getArgByIndex(DATA);
    const places = {
      header: (name: string): KeyReading => readHeader(headerValues(execution, name)),
      payload: (path: string): unknown => valueAt(data, path),
    };
    const found = keyBySetting(settings, { places, context: this.context, execution });
    if (found !== undefined) return found;

    const inData = valueAt(data, KEY_PROPERTY);
    return isGiven(inData) ? readKey(inData) : places.header(this.settings.header);
  }

  scopeSourceOf(context: ExecutionContext): unknown {
    return context.getArgByIndex(DATA);
  }

  /** Guards leave it at the context of the message, or at the call of gRPC. */
  userOf(context: ExecutionContext): unknown {
    return [MESSAGE, CALL]
      .map((index) => context.getArgByIndex<{ readonly user?: unknown } | undefined | null>(index)?.user)
      .find((user) => user !== undefined);
  }

  identityOf(context: ExecutionContext): readonly string[] {
    return ['rpc', patternOf(context)];
  }

  payloadOf(context: ExecutionContext): unknown {
    return context.getArgByIndex(DATA);
  }

  /** Each of several handlers of one event does its own work. */
  placeOf(_context: ExecutionContext, { source }: CalledHandler): string {
    return source;
  }

  store(outcome: Outcome, context: ExecutionContext): IdempotencyStoredResponse | Unstorable {
    try {
      if (outcome.kind === 'error') return storedMessageError(outcome.error, grpcCallOf(context));
      if (isRecord(outcome.value)) return { unstorable: 'answered with a record of its transport' };

      const body = encodeValue(outcome.value);
      return { status: SUCCESS, headers: {}, ...(body === undefined ? {} : { body }) };
    } catch (error) {
      if (error instanceof NotStorableError) return { unstorable: `gave what cannot be kept: ${error.message}` };
      throw error;
    }
  }

  replay(stored: IdempotencyStoredResponse, context: ExecutionContext): unknown {
    if (stored.error === undefined) return stored.body;
    if (stored.error === 'http') throw replayedHttpError(stored);

    const payload = replayedPayload(stored.body, grpcCallOf(context));
    throw this.exceptions.of(payload) ?? new Error('The answer of this message was an error, which cannot be sent.');
  }

  reject(rejection: IdempotencyRejectedError, context: ExecutionContext): unknown {
    const { code, status, message, retryAfterSeconds } = rejection;
    const retryAfter = retryAfterSeconds === undefined ? {} : { retryAfter: retryAfterSeconds };
    const payload = { status: 'error', code, statusCode: status, message, ...retryAfter };
    const call = grpcCallOf(context);
    if (call === undefined) return this.exceptions.wrap(rejection, payload);

    const metadata = payloadMetadata(call, ERROR_METADATA, payload);
    return this.exceptions.wrap(rejection, { code: GRPC_STATUSES[code], message, metadata });
  }

  /** An event that comes again would be refused again; one that comes too early, or without the store, may be of use later. */
  dropsRejected({ status }: IdempotencyRejectedError, context: ExecutionContext): boolean {
    return [400, 422].includes(status) && Reflect.getMetadata(HANDLER_TYPE, context.getHandler()) === EVENT;
  }
}

/** A context that cannot tell its headers has none. */
function headerValues(context: ExecutionContext, name: string): readonly unknown[] {
  try {
    return grpcCallOf(context)?.metadata.get(name) ?? messageHeaderValues(context.getArgByIndex(MESSAGE), name);
  } catch {
    return [];
  }
}

/** Brokers pass on what they get: texts, bytes, numbers, and anything else. */
function readHeader(values: readonly unknown[]): KeyReading {
  const texts = values.map((value) => (value instanceof Uint8Array ? new TextDecoder().decode(value) : value));
  if (texts.length === 1 && typeof texts[0] !== 'string') return readKey(texts[0]);

  return headerKey(texts.map(String));
}

/** The concrete name of the message, where its handler is for several; objects whatever the order of their properties. */
function patternOf(context: ExecutionContext): string {
  const message = context.getArgByIndex<MessageContext | undefined | null>(MESSAGE);
  const pattern: unknown =
    grpcCallOf(context)?.getPath?.() ??
    message?.getPattern?.() ??
    message?.getSubject?.() ??
    message?.getTopic?.() ??
    message?.getChannel?.() ??
    declaredPattern(context);

  return typeof pattern === 'string' ? canonicalPattern(pattern) : canonicalText(pattern);
}

/** Nest keeps a list of them. */
function declaredPattern(context: ExecutionContext): unknown {
  const declared: unknown = Reflect.getMetadata(PATTERN, context.getHandler());

  return Array.isArray(declared) && declared.length === 1 ? declared[0] : declared;
}

/** Transports send patterns that are objects as their JSON. */
function canonicalPattern(pattern: string): string {
  if (!pattern.startsWith('{')) return pattern;

  try {
    return canonicalText(JSON.parse(pattern));
  } catch {
    return pattern;
  }
}

function isObservable(value: unknown): boolean {
  return typeof (value as { readonly subscribe?: unknown } | undefined | null)?.subscribe === 'function';
}

const RECORDS = new Set(['NatsRecord', 'MqttRecord', 'RmqRecord']);

/** What a handler returns to send headers with its answer: told by its class, which a copy has not. */
function isRecord(value: unknown): boolean {
  return typeof value === 'object' && value !== null && RECORDS.has(value.constructor?.name);
}
