import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Server } from 'node:http';
import { WsAdapter } from '@nestjs/platform-ws';
import { Test } from '@nestjs/testing';
import { MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { Idempotent, IdempotencyEvents, IdempotencyModule, IdempotencyService } from '../src/index.js';
import { CapturedLog } from './fixtures/captured-log.js';
import { afterTest, cleanUp } from './fixtures/microservice.js';

interface Order {
  readonly id: number;
  readonly idempotencyKey: string;
}

let runs: number;

beforeEach(() => {
  runs = 0;
});

afterEach(cleanUp);

@WebSocketGateway()
class Orders {
  constructor(private readonly idempotency: IdempotencyService) {}

  @SubscribeMessage('create')
  @Idempotent({ required: true })
  create() {
    return { event: 'created', data: (runs += 1) };
  }

  @SubscribeMessage('cancel')
  @Idempotent({ required: true })
  cancel() {
    return { event: 'cancelled', data: (runs += 1) };
  }

  @SubscribeMessage('charge')
  async charge(@MessageBody() order: Order) {
    const charge = (): number => (runs += 1);
    const data = await this.idempotency.run(order.idempotencyKey, charge, { name: 'charge', payload: order });

    return { event: 'charged', data };
  }
}

async function start() {
  const log = new CapturedLog();
  const module = await Test.createTestingModule({ imports: [IdempotencyModule.forRoot({})], providers: [Orders] })
    .setLogger(log)
    .compile();
  const app = module.createNestApplication({ logger: log });
  app.useWebSocketAdapter(new WsAdapter(app));
  await app.listen(0, '127.0.0.1');
  afterTest(() => app.close());
  const types: string[] = [];
  app.get(IdempotencyEvents).events$.subscribe(({ type }) => types.push(type));
  const { port } = (app.getHttpServer() as Server).address() as AddressInfo;
  const socket = new WebSocket(`ws://127.0.0.1:${port}`, { headers: { 'idempotency-key': 'of the handshake' } });
  await once(socket, 'open');
  afterTest(() => socket.terminate());

  return {
    log,
    types,
    async send(event: string, data: Order): Promise<unknown> {
      const answer = once(socket, 'message');
      socket.send(JSON.stringify({ event, data }));
      const [text] = (await answer) as [Buffer];

      return (JSON.parse(text.toString()) as { readonly data: unknown }).data;
    },
  };
}

const ORDER: Order = { id: 1, idempotencyKey: 'k' };

describe('A message over WebSockets', () => {
  it('runs each time, whatever its decorator says, which each handler is warned of once', async () => {
    const { send, log, types } = await start();
    for (const event of ['create', 'create', 'cancel', 'cancel']) await send(event, ORDER);

    expect([runs, types]).toEqual([4, []]);
    expect(log.own).toEqual(
      ['create', 'cancel'].map((method) =>
        expect.stringMatching(new RegExp(`^Orders\\.${method}\\(\\) is @Idempotent\\(\\) without effect: keys do not`)),
      ),
    );
  });

  it('has keys by way of the service', async () => {
    const { send, types } = await start();

    expect([await send('charge', ORDER), await send('charge', ORDER)]).toEqual([1, 1]);
    expect(types).toEqual(['executed', 'stored', 'replayed']);
  });
});
