import { deadlineHeaderValue, Deadline } from 'holdfast';
import {
  currentScope,
  earlierBound,
  OptionError,
  rejectUnknown,
  requireDeadlineHeader,
  requireObject,
  type Scope,
} from 'holdfast/binding';
import { catchError, defer, throwError, type Observable } from 'rxjs';
import { boundByAttempt } from './attempt-bound.js';
import { mqttUserProperties, natsHeaders, rabbitmqHeaders } from './default-headers.js';
import type { HeaderCarrier, Members } from './header-carrier.js';
import { kafkaHeaders } from './kafka-headers.js';
import { packetMetadata } from './packet-metadata.js';

export interface BoundedClientOptions {
  /**
   * The header in which a message carries how long its answer is waited for, such as `'x-request-timeout-ms'`. Default:
   * none, and nothing is carried.
   */
  readonly header?: string | undefined;
}

/** What is bounded of a `ClientProxy` of `@nestjs/microservices`. */
export interface MessageClient {
  send(pattern: unknown, data: unknown): Observable<unknown>;
  emit(pattern: unknown, data: unknown): Observable<unknown>;
}

const CARRIERS: readonly HeaderCarrier[] = [
  natsHeaders,
  rabbitmqHeaders,
  mqttUserProperties,
  kafkaHeaders,
  packetMetadata,
];

/** As V8 says that an object has not got one. */
const PRIVATE_MEMBER = /private (?:member|method|field)|Receiver must be/;

const OPTIONS_HINT = 'boundedClient(client, { header }) takes a header that carries a deadline.';

/** The application closes the client that it has made: Nest would close it once more through this one. */
const HOOKS: ReadonlySet<string | symbol> = new Set([
  'onModuleInit',
  'onApplicationBootstrap',
  'onModuleDestroy',
  'beforeApplicationShutdown',
  'onApplicationShutdown',
]);

/**
 * The same client, whose messages know the attempt that they are sent in. `send()` ends when the attempt does, with the
 * attempt's reason, instead of waiting for an answer that nobody waits for; and messages and events carry how long is left
 * until then, rounded up to whole milliseconds and at least 1, anew for each subscription. What the message says under
 * that header itself is left as it is. Outside of attempts nothing is bounded, and nothing is carried.
 *
 * Over TCP and Redis the header is an entry of the packet's metadata (Nest 12.1), over NATS, RabbitMQ and Kafka a header,
 * over MQTT 5 a user property. Clients of other transports are bounded only. A client of a class of your own that reads
 * private members (`#…`) while it sends cannot carry a header, and its messages fail with an error that says so: leave
 * `header` out.
 *
 * @throws TypeError when deadlines do not travel in a header of that name, or `client` is none.
 *
 * @example
 * ```ts
 * const warehouse = boundedClient(client, { header: 'x-request-timeout-ms' });
 * const stock = await policy.execute(() => firstValueFrom(warehouse.send('stock', { sku })));
 * ```
 */
export function boundedClient<Client extends MessageClient>(
  client: Client,
  options: BoundedClientOptions = {},
): Client {
  requireObject(options, '', OPTIONS_HINT);
  rejectUnknown(options, ['header']);
  if (typeof client?.send !== 'function' || typeof client.emit !== 'function') {
    throw new OptionError('client', 'expected a ClientProxy of @nestjs/microservices, with send() and emit().');
  }
  const { header } = options;
  const bounds = new ClientBounds(client, header === undefined ? undefined : requireDeadlineHeader(header, 'header'));
  const own: Members = { send: bounds.send, emit: bounds.emit };

  return new Proxy(client, {
    get(target, key) {
      if (HOOKS.has(key)) return undefined;
      return typeof key === 'string' && Object.hasOwn(own, key) ? own[key] : memberOf(target, key);
    },
  });
}

/** Methods keep their own client as `this`: it may have private members. */
function memberOf(client: object, key: string | symbol): unknown {
  const member: unknown = Reflect.get(client, key, client);

  return typeof member === 'function' ? (member.bind(client) as unknown) : member;
}

class ClientBounds {
  private readonly carrier: HeaderCarrier | undefined;

  constructor(
    private readonly client: MessageClient,
    private readonly header: string | undefined,
  ) {
    this.carrier = CARRIERS.find((carrier) => carrier.suits(client));
  }

  readonly send = (pattern: unknown, data: unknown): Observable<unknown> =>
    boundByAttempt((scope) => {
      // Asked for when the message leaves: to connect may take its time.
      const client = scope === undefined ? this.client : this.carrying((header) => leftOf(scope, header));
      const answer = defer(() => client.send(pattern, data));

      return client === this.client ? answer : this.explained(answer);
    });

  /** Sent at once, and not taken back. It may leave after the attempt. */
  readonly emit = (pattern: unknown, data: unknown): Observable<unknown> => {
    const { header } = this;
    const scope = currentScope();
    const left = scope && header && leftOf(scope, header);

    const client = this.carrying(() => left);
    if (client === this.client) return client.emit(pattern, data);
    try {
      return this.explained(client.emit(pattern, data));
    } catch (error) {
      throw this.reasonOf(error);
    }
  };

  private explained(answer: Observable<unknown>): Observable<unknown> {
    return answer.pipe(catchError((error: unknown) => throwError(() => this.reasonOf(error))));
  }

  /**
   * A message that carries a header sees its client through a proxy, since the client is there for all messages at once;
   * and private members are those of one object, which no other has.
   */
  private reasonOf(error: unknown): unknown {
    if (!(error instanceof TypeError) || !PRIVATE_MEMBER.test(error.message)) return error;

    return new OptionError(
      'header',
      `a message of ${this.client.constructor.name} cannot carry a header, since that class reads private members ` +
        `(#…) while it sends (${error.message}). Leave header out, or declare them with TypeScript's "private".`,
    );
  }

  /** The client as a message sees it that carries a value. */
  private carrying(value: (header: string) => string | undefined): MessageClient {
    const { carrier, client, header } = this;
    if (carrier === undefined || header === undefined) return client;

    const members = carrier.members(client, { name: header, value: () => value(header) });
    return new Proxy(client, {
      get(target, key) {
        if (typeof key === 'string' && Object.hasOwn(members, key)) return members[key];
        // A connection is there for all messages.
        return key === 'connect' ? memberOf(target, key) : (Reflect.get(target, key, target) as unknown);
      },
    });
  }
}

/** Until the first limit that will cut the attempt: its own timeout, or a deadline around. */
function leftOf({ bound, deadline }: Scope, header: string): string | undefined {
  const around = deadline && { startedAt: deadline.startedAt, dueAt: deadline.expiresAt };
  const limit = earlierBound(bound, around);

  return limit && deadlineHeaderValue(header, Deadline.from(limit.startedAt, limit.dueAt - limit.startedAt));
}
