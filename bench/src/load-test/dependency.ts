import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { seeded } from '../seeded.js';
import { moment } from './moment.js';
import { serveParent } from './parent.js';
import type { Condition } from './phases.js';
import type { SeenCall } from './records.js';
import type { CallName } from './settings.js';

/** What the application calls: an HTTP server that is as well as it is told to be, and keeps a record of each call. */

const BODY = JSON.stringify({ items: Array.from({ length: 20 }, (_, item) => ({ item, price: item * 100 })) });
const HEAD = { 'content-type': 'application/json', 'content-length': BODY.length };

type Fate = { readonly afterMs: number; readonly end: 'answer' | 'refuse' | 'reset' | 'break off' } | 'hang';

const random = seeded(Number(process.argv[2]));
const between = (least: number, most: number): number => least + random() * (most - least);

const FATES: Readonly<Record<Condition, () => Fate>> = {
  up: () => ({ afterMs: between(5, 25), end: 'answer' }),
  slow: () => ({ afterMs: between(80, 200), end: 'answer' }),
  hanging: () => 'hang',
  failing: () => ({ afterMs: between(1, 5), end: 'refuse' }),
  // Of two calls one is well; the other is reset, broken off in the middle of its body, or slow.
  'half-broken': () => {
    const afterMs = between(5, 25);
    if (random() < 0.5) return { afterMs, end: 'answer' };
    const draw = random();
    if (draw < 1 / 3) return { afterMs, end: 'reset' };

    return draw < 2 / 3 ? { afterMs, end: 'break off' } : { afterMs: between(120, 400), end: 'answer' };
  },
};

/** How many turns of the event loop a connection that was closed before a call arrived may take to be known as closed. */
const TURNS = 4;

class Call {
  readonly arrivedAt = moment();
  concurrent = 1;
  readonly id: number;
  readonly name: CallName;
  private seen: SeenCall | undefined = undefined;
  private timer: NodeJS.Timeout | undefined = undefined;
  private readonly socket: Socket;
  private readonly onGone = (): void => this.end('cut');
  private readonly ends = {
    answer: () => this.answer(),
    refuse: () => this.refuse(),
    reset: () => this.reset(),
    'break off': () => this.breakOff(),
  };

  constructor(
    private readonly log: CallLog,
    request: IncomingMessage,
    private readonly response: ServerResponse,
  ) {
    this.id = Number(request.headers['x-call']);
    this.name = (request.url ?? '').slice(1) as CallName;
    this.socket = request.socket;
    for (const sign of ['end', 'error', 'close']) this.socket.on(sign, this.onGone);
  }

  meet(fate: Fate): void {
    if (fate !== 'hang') this.timer = setTimeout(() => this.ends[fate.end](), fate.afterMs);
  }

  answer(): void {
    this.end('answered');
    this.response.writeHead(200, HEAD).end(BODY);
  }

  refuse(): void {
    this.end('refused');
    this.response.writeHead(503, HEAD).end(BODY);
  }

  reset(): void {
    this.end('reset');
    this.socket.resetAndDestroy();
  }

  breakOff(): void {
    this.end('broken off');
    this.response.writeHead(200, HEAD).write(BODY.slice(0, BODY.length / 2), () => this.socket.destroy());
  }

  private end(outcome: SeenCall['outcome']): void {
    if (this.seen !== undefined) return;

    clearTimeout(this.timer);
    for (const sign of ['end', 'error', 'close']) this.socket.off(sign, this.onGone);
    const { id, name, arrivedAt, concurrent } = this;
    this.seen = { id, name, arrivedAt, endedAt: moment(), outcome, concurrent };
    this.log.onEnd(this, this.seen);
  }
}

class CallLog {
  readonly running = new Set<Call>();
  private seen: { concurrent: number }[] = [];
  private readonly ended = new WeakMap<Call, { concurrent: number }>();

  begin(request: IncomingMessage, response: ServerResponse): Call {
    const call = new Call(this, request, response);
    this.running.add(call);
    void this.count(call);

    return call;
  }

  onEnd(call: Call, seen: SeenCall): void {
    this.running.delete(call);
    this.seen.push(seen);
    this.ended.set(call, seen);
  }

  take(): unknown {
    return this.seen.splice(0);
  }

  /** What was closed before this call arrived has to be known as closed first. */
  private async count(call: Call): Promise<void> {
    const before = [...this.running].filter(({ name }) => name === call.name);
    for (let turn = 1; turn <= TURNS; turn++) await new Promise<void>((resolve) => void setImmediate(resolve));
    const concurrent = before.filter((other) => other === call || this.running.has(other)).length;
    call.concurrent = concurrent;
    const seen = this.ended.get(call);
    if (seen !== undefined) seen.concurrent = concurrent;
  }
}

let condition: Condition = 'up';
const log = new CallLog();
const server = createServer((request, response) => log.begin(request, response).meet(FATES[condition]()));
// Of a connection that either side has closed an error may still come.
server.on('connection', (socket) => socket.on('error', () => {}));

server.listen(0, '127.0.0.1', () => {
  serveParent((server.address() as AddressInfo).port, {
    /** Whoever still hangs is let go. */
    be: (wanted: Condition) => {
      condition = wanted;
      for (const call of log.running) call.reset();
    },
    running: () => {
      const names: Partial<Record<CallName, number>> = {};
      for (const { name } of log.running) names[name] = (names[name] ?? 0) + 1;
      return names;
    },
    take: () => log.take(),
    hangUp: () => server.closeIdleConnections(),
  });
});
