import { currentScope, now, OptionError, type Scope } from 'holdfast/binding';
import type { Observable } from 'rxjs';
import { boundByAttempt } from './attempt-bound.js';

/** What is bounded of a `ClientGrpc` of `@nestjs/microservices`. */
export interface GrpcClient {
  getService<T extends object>(name: string): T;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- As Nest declares it, so that it stands in for its own.
  getClientByServiceName<T = any>(name: string): T;
}

/** A method of a client that grpc-js has made. */
interface ClientMethod {
  (...args: unknown[]): unknown;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
}

type RawClient = Readonly<Record<string, ClientMethod>>;
type ServiceMethod = (...args: unknown[]) => Observable<unknown>;

/** What Nest's own client makes the methods of services with, from a client of grpc-js. */
interface MethodFactory {
  createServiceMethod(client: RawClient, name: string): ServiceMethod;
}

/** grpc-js ends a call by a timer of its own. The attempt's comes first, so that its reason is what is heard. */
const HEAD_START_MS = 5;

/**
 * The same client, whose calls know the attempt that they are subscribed to in. A call is cancelled when its attempt is
 * given up, and ends with the attempt's reason. A call with one answer has what is left until then as its deadline,
 * rounded up to whole milliseconds, unless its own is earlier; a stream of answers has the deadline that the caller of
 * the application has set, since limits of one's own end with the first value. Outside of attempts nothing changes.
 *
 * @throws TypeError when `client` is none.
 *
 * @example
 * ```ts
 * const quotes = boundedGrpcClient(client).getService<QuotesService>('Quotes');
 * const quote = await policy.execute(() => firstValueFrom(quotes.find({ orderId })));
 * ```
 */
export function boundedGrpcClient(client: GrpcClient): GrpcClient {
  if (typeof client?.getService !== 'function' || typeof client.getClientByServiceName !== 'function') {
    throw new OptionError('client', 'expected a ClientGrpc of @nestjs/microservices, with getService().');
  }

  return {
    getService: <T extends object>(name: string) => boundedService(client, name) as T,
    getClientByServiceName: <T>(name: string) => client.getClientByServiceName<T>(name),
  };
}

function boundedService(client: GrpcClient, name: string): object {
  const service = client.getService<Readonly<Record<string, unknown>>>(name);
  const raw = client.getClientByServiceName<RawClient>(name);
  const members = Object.entries(service).map(([key, member]) => {
    if (typeof member !== 'function') return [key, member];

    return [key, boundedMethod(hasFactory(client) ? carrying(client, raw, key) : (member as ServiceMethod))];
  });

  return Object.fromEntries(members) as object;
}

/** Others than Nest's own, such as stubs in tests, are bounded, and carry nothing. */
function hasFactory(client: object): client is MethodFactory {
  return typeof (client as Partial<MethodFactory>).createServiceMethod === 'function';
}

function boundedMethod(method: ServiceMethod): ServiceMethod {
  return (...args) => boundByAttempt(() => method(...args));
}

/** Nest's own method, on a client of grpc-js that sets the deadline. Nest hands on no options with a request stream. */
function carrying(factory: MethodFactory, raw: RawClient, name: string): ServiceMethod {
  const method = raw[name] as ClientMethod;
  const { requestStream, responseStream } = method;
  const call = (...args: unknown[]): unknown => method.apply(raw, withDeadline(args, method));
  const value = Object.assign(call, { requestStream, responseStream });

  return factory.createServiceMethod(Object.create(raw, { [name]: { value } }) as RawClient, name);
}

interface CallOptions {
  readonly deadline?: number | Date | undefined;
}

/** grpc-js takes the request, metadata, options and the callback, of which a kind of method lacks some, and callers others. */
function withDeadline(args: readonly unknown[], { requestStream, responseStream }: ClientMethod): unknown[] {
  const deadline = deadlineOf(currentScope(), responseStream);
  if (deadline === undefined) return [...args];

  const begin = requestStream ? 0 : 1;
  const end = responseStream ? args.length : args.length - 1;
  const given = args.slice(begin, end).filter((one) => one !== undefined && one !== null);
  const options: CallOptions = given.find((one) => !isMetadata(one)) ?? {};
  const own = Number(options.deadline ?? Infinity);
  const bounded = { ...options, deadline: own <= deadline ? own : deadline };

  return [...args.slice(0, begin), ...given.filter(isMetadata), bounded, ...args.slice(end)];
}

function isMetadata(value: unknown): boolean {
  return typeof (value as { readonly getMap?: unknown }).getMap === 'function';
}

/** On the clock of the wall, which grpc-js goes by; `undefined` without any. */
function deadlineOf(scope: Scope | undefined, responseStream: boolean): number | undefined {
  if (scope === undefined) return undefined;

  const { bound, deadline } = scope;
  const dueAt = responseStream ? (deadline?.inherited === true ? deadline.expiresAt : undefined) : bound?.dueAt;
  if (dueAt === undefined) return undefined;

  return Date.now() + Math.max(1, Math.ceil(dueAt - now())) + HEAD_START_MS;
}
