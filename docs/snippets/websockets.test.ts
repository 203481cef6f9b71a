import { readFileSync } from 'node:fs';

const shown = (name: string): unknown => JSON.parse(readFileSync(new URL(`shown/${name}`, import.meta.url), 'utf8'));

const PRESETS = {
  carrier: { timeout: '50ms', retry: { attempts: 2, backoff: { delay: 1 } } },
} as const;

// #region testing
import { once } from 'node:events';
import type { INestApplication } from '@nestjs/common';
import { WsAdapter } from '@nestjs/platform-ws';
import { ResilienceModule } from '@nestjs/resilience';
import { Test } from '@nestjs/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { liveQuotes, scriptCarrier } from './carrier.js';
import { QuotesGateway } from './websockets.js';

let app: INestApplication;
let socket: WebSocket;

beforeEach(async () => {
  const moduleRef = await Test.createTestingModule({
    imports: [ResilienceModule.forRoot({ presets: PRESETS })],
    providers: [QuotesGateway],
  }).compile();
  app = moduleRef.createNestApplication({ logger: false });
  app.useWebSocketAdapter(new WsAdapter(app));
  await app.listen(0, '127.0.0.1');
  socket = new WebSocket((await app.getUrl()).replace('http', 'ws'));
  await once(socket, 'open');
});

afterEach(() => app.close());

async function ask(event: string): Promise<unknown> {
  socket.send(JSON.stringify({ event, data: '1001' }));
  const [message] = (await once(socket, 'message')) as [Buffer];
  return JSON.parse(message.toString());
}

it('tells the client of a message that takes too long, after one attempt', async () => {
  const carrier = scriptCarrier([{ hang: true }]);

  expect(await ask('quotes')).toEqual(shown('gateway-exception.json'));
  expect(carrier.calls.map(({ state }) => state)).toEqual(['cancelled']);
});
// #endregion

it('repeats a handler that opts in', async () => {
  const carrier = scriptCarrier([{ hang: true }, { answer: liveQuotes }]);

  expect(await ask('quotes.again')).toEqual({ event: 'quotes', data: liveQuotes });
  expect(carrier.calls).toHaveLength(2);
});
