import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from '../fixtures/backend.js';
import { startOutage, type Outage, type Outcome } from '../fixtures/outage.js';
import { PEERS, type Peer, type PeerName } from '../fixtures/outage-peers.js';
import { verdictOnProgram } from '../../../../tools/services/private-process.js';
import { describeOn } from '../../../../tools/services/services.js';

const TOLERANCE_MS = 100;
const RECOVERY_MS = 5_000;
const START_MS = 60_000;

/** A microservice that outlives the broker answers what was in flight while the broker is away. */
const HOLD_MS = 1_500;

/** Of each kind of request. */
const IN_FLIGHT = 25;
const UNREAD = 5;
const AWAY = 8;
const LATER = 20;

/** A kind of error, what the budget or an attempt's timeout answers, and what the breaker does. */
const FAILED = [500, 503, 504];

/** What clients and microservices write when a connection is lost or found: lines that come, however often. */
const CONNECTION_LINES: Readonly<Record<PeerName, readonly string[]>> = {
  TCP: [],
  gRPC: [],
  Redis: ['Reconnecting to Redis...', 'Connected to Redis. Subscribing to channels...'],
  NATS: ['NatsError: type: "disconnect".', 'NatsStatus: type: "reconnect".'],
  MQTT: ['MQTT broker went offline.', 'MQTT connection lost. Trying to reconnect...', 'Connected to MQTT broker'],
  RabbitMQ: ['Disconnected from RMQ. Trying to reconnect.', 'Successfully connected to RMQ broker'],
};

/** Errors of sockets and of requests: which of them come depends on who was just doing what. */
const ERROR_LINES: Readonly<Record<PeerName, RegExp>> = {
  TCP: /^Error: (?:read ECONNRESET|write EPIPE|connect ECONNREFUSED|Connection closed)$/,
  gRPC: /^Error: 14 UNAVAILABLE: /,
  Redis: /^Error: (?:read ECONNRESET|write EPIPE|connect ECONNREFUSED|Connection lost\. Trying to reconnect\.\.\.)$/,
  NATS: /^Error: Connection lost\. Trying to reconnect\.\.\.$|^NatsStatus: type: "update"/,
  MQTT: /^Error: (?:read ECONNRESET|write EPIPE|connect ECONNREFUSED|Connection lost\. Trying to reconnect\.\.\.)$/,
  // Nest logs an object of the library's as it is.
  RabbitMQ:
    /^Error: (?:read ECONNRESET|write EPIPE|connect ECONNREFUSED|[Cc]hannel closed|Connection lost\. Trying to reconnect\.\.\.)$|^Connection to transport failed|^\[object Object\]$/,
};

/** Every line once, without the ports. */
function linesOf({ gateway: { log } }: Outage): string[] {
  const lines = [...log.errors, ...log.warnings, ...log.infos];

  return [...new Set(lines.map((line) => line.replace(/ 127\.0\.0\.1:\d+/, '')))];
}

/** As far as clients show it: requests, subscriptions and listeners for answers. */
interface Waiting {
  readonly routingMap?: ReadonlyMap<string, unknown>;
  readonly subscriptionsCount?: ReadonlyMap<string, number>;
  readonly responseEmitter?: { eventNames(): unknown[] };
  readonly natsClient?: { readonly protocol: { readonly subscriptions: { size(): number } } };
}

function waitingIn(client: object): readonly unknown[] {
  const { routingMap, subscriptionsCount, responseEmitter, natsClient } = client as Waiting;

  return [
    ...(routingMap?.keys() ?? []),
    ...[...(subscriptionsCount ?? [])].filter(([, count]) => count !== 0),
    ...(responseEmitter?.eventNames() ?? []),
    ...new Array<string>(natsClient?.protocol.subscriptions.size() ?? 0).fill('a subscription'),
  ];
}

/** Sockets, servers, children and timers of this process. */
const handles = (): string[] => process.getActiveResourcesInfo().filter((name) => /TCP|Process|Timeout/.test(name));

/** The test runner's. */
const TIMERS_OF_A_TEST = 1;

for (const peer of Object.keys(PEERS) as PeerName[]) {
  const { program, microservice }: Peer = PEERS[peer];

  describeOn(
    verdictOnProgram(program),
    `When what answers over ${peer} is killed with fifty requests in flight`,
    () => {
      let outage: Outage;
      let wasExecuted = 0;
      let patient: readonly Outcome[] = [];

      beforeAll(async () => {
        outage = await startOutage(peer);
        const outcomes = await manyRequests(IN_FLIGHT, 'before');
        expect(outcomes.map(({ status }) => status)).toEqual(outcomes.map(() => 200));
      }, START_MS);
      afterAll(() => outage.process.end());

      const manyRequests = (
        count: number,
        id: string,
        options?: Parameters<Outage['request']>[1],
      ): Promise<Outcome[]> =>
        Promise.all(Array.from({ length: count }, (_, nth) => outage.request(`${id}-${nth}`, options)));

      const expectFailedInTime = (outcomes: readonly Outcome[]): void => {
        expect(
          outcomes.filter(({ overrunMs, status }) => overrunMs > TOLERANCE_MS || !FAILED.includes(status)),
        ).toEqual([]);
      };

      it('these are answered within their budget, and so are those which it does not read any more', async () => {
        const { executed } = outage;
        const known = executed.length;
        const inAttempts = manyRequests(IN_FLIGHT, 'in-attempts', { holdMs: HOLD_MS });
        const inBudget = manyRequests(IN_FLIGHT, 'patient', { holdMs: HOLD_MS, route: 'patient' });
        await until(() => executed.length >= known + 2 * IN_FLIGHT);
        outage.process.freeze();
        const unread = manyRequests(UNREAD, 'unread');
        await sleep(50);
        await outage.process.kill();
        wasExecuted = executed.length;

        patient = await inBudget;
        expectFailedInTime([...patient, ...(await inAttempts), ...(await unread)]);
      });

      it('a client fails at once without a broker, and waits for as long as it may with one', () => {
        const timedOut = new Array<number>(microservice === undefined ? 0 : IN_FLIGHT).fill(504);

        expect(patient.map(({ status }) => status).filter((status) => status === 504)).toEqual(timedOut);
      });

      it('the breaker has counted them, and opened', () => {
        const opened = outage.gateway.events.find(({ type }) => type === 'circuit-open');

        expect(opened).toMatchObject({ policy: 'stock', from: 'closed', to: 'open' });
        expect(outage.gateway.resilience.circuitBreaker('stock').stats.failures).toBeGreaterThanOrEqual(5);
      });

      it('requests are answered within their budget while it is away', async () => {
        const outcomes: Outcome[] = [];
        for (let nth = 0; nth < AWAY; nth++) {
          outcomes.push(await outage.request(`away-${nth}`));
          await sleep(100);
        }

        expectFailedInTime(outcomes);
      });

      it(
        'the first one succeeds within five seconds of its return, and so does every later one',
        { timeout: START_MS },
        async () => {
          await outage.process.start();
          const returnedAt = performance.now();
          for (let nth = 0; (await outage.request(`returned-${nth}`)).status !== 200; nth++) {
            expect(performance.now() - returnedAt).toBeLessThan(RECOVERY_MS);
            await sleep(50);
          }
          expect(performance.now() - returnedAt).toBeLessThan(RECOVERY_MS);

          expect((await manyRequests(LATER, 'later')).map(({ status }) => status)).toEqual(new Array(LATER).fill(200));
        },
      );

      it('nothing is executed then that had been given up', () => {
        const executed = outage.executed.slice(wasExecuted);

        expect(executed.filter((id) => !/^(?:returned|later)-/.test(String(id)))).toEqual([]);
        expect(executed).toHaveLength(new Set(executed).size);
      });

      it('the log tells of the connection, and of nothing else', () => {
        const lines = linesOf(outage);
        const expected = CONNECTION_LINES[peer];

        expect(lines).toEqual(expect.arrayContaining([...expected]));
        expect(lines.filter((line) => !expected.includes(line) && !ERROR_LINES[peer].test(line))).toEqual([]);
      });

      it('no request waits in the client, and no socket and no timer is left when all is closed', async () => {
        const waiting = waitingIn(outage.client);
        await outage.end();
        await until(() => handles().length <= TIMERS_OF_A_TEST);

        expect(waiting).toEqual([]);
      });
    },
  );
}
