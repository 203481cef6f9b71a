import { Signal } from '@nestjs/resilience';
import { MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { BOTH, onSockets } from '../fixtures/gateway.js';
import { Budgeted, Limited, lookUp, Patient, Repeated, run, testLateHandlers } from '../fixtures/late-pipes.js';

const reply = (data: string) => ({ event: 'quoted', data });

@WebSocketGateway()
class QuotesGateway {
  @SubscribeMessage('limited')
  @Limited()
  limited(@MessageBody(lookUp) _order: unknown, @Signal() signal: AbortSignal) {
    return reply(run(signal));
  }

  @SubscribeMessage('budgeted')
  @Budgeted()
  budgeted(@MessageBody(lookUp) _order: unknown, @Signal() signal: AbortSignal) {
    return reply(run(signal));
  }

  @SubscribeMessage('repeated')
  @Repeated()
  repeated(@MessageBody(lookUp) _order: unknown, @Signal() signal: AbortSignal) {
    return reply(run(signal));
  }

  @SubscribeMessage('patient')
  @Patient()
  patient(@MessageBody(lookUp) _order: unknown, @Signal() signal: AbortSignal) {
    return reply(run(signal));
  }
}

for (const abortOnDisconnect of ['always', 'safe'] as const) {
  onSockets(BOTH, `A handler of a gateway (abortOnDisconnect: ${abortOnDisconnect})`, (start) => {
    testLateHandlers(async () => {
      const app = await start({ providers: [QuotesGateway], options: { abortOnDisconnect } });
      const client = await app.connect();

      return {
        ...app,
        ask: async (handler) => {
          client.send(handler);
          const { event, data } = await client.next();
          return event === 'quoted' ? data : undefined;
        },
        open: async (handler) => {
          client.send(handler);
          return () => client.drop();
        },
      };
    });
  });
}
