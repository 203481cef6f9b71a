import { Controller } from '@nestjs/common';
import { MessagePattern, Payload } from '@nestjs/microservices';
import { Signal } from '@nestjs/resilience';
import { Budgeted, Limited, lookUp, Patient, Repeated, run, testLateHandlers } from '../fixtures/late-pipes.js';
import { EVERY_TRANSPORT, onTransports, patternOf } from '../fixtures/microservice.js';

@Controller()
class QuotesHandlers {
  @MessagePattern(patternOf('limited'))
  @Limited()
  limited(@Payload(lookUp) _order: unknown, @Signal() signal: AbortSignal) {
    return run(signal);
  }

  @MessagePattern(patternOf('budgeted'))
  @Budgeted()
  budgeted(@Payload(lookUp) _order: unknown, @Signal() signal: AbortSignal) {
    return run(signal);
  }

  @MessagePattern(patternOf('repeated'))
  @Repeated()
  repeated(@Payload(lookUp) _order: unknown, @Signal() signal: AbortSignal) {
    return run(signal);
  }

  @MessagePattern(patternOf('patient'))
  @Patient()
  patient(@Payload(lookUp) _order: unknown, @Signal() signal: AbortSignal) {
    return run(signal);
  }
}

onTransports(EVERY_TRANSPORT, 'A handler of messages', (start, { name }) => {
  const isSeenToLeave = name === 'TCP';

  testLateHandlers(
    async () => {
      const service = await start({ controllers: [QuotesHandlers], options: { abortOnDisconnect: 'always' } });

      return {
        ...service,
        ask: async (handler) => (await service.send(patternOf(handler)).catch(() => []))[0],
        open: async (handler) => {
          const client = service.connect();
          client.send(patternOf(handler), {}).subscribe({ error: () => {} });
          return () => void client.close();
        },
      };
    },
    isSeenToLeave ? [''] : [],
  );
});
