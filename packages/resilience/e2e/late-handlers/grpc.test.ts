import { Controller } from '@nestjs/common';
import { GrpcMethod, GrpcStreamMethod, Payload } from '@nestjs/microservices';
import { Signal } from '@nestjs/resilience';
import { of } from 'rxjs';
import { describe } from 'vitest';
import { closeGrpcAfterEach, startGrpc, type Method } from '../fixtures/grpc.js';
import { Budgeted, Limited, lookUp, Patient, Repeated, run, testLateHandlers } from '../fixtures/late-pipes.js';

const METHODS = { limited: 'clientStream', budgeted: 'bidi', repeated: 'unary', patient: 'serverStream' } as const;

@Controller()
class QuotesHandlers {
  @GrpcStreamMethod('Calls', 'ClientStream')
  @Limited()
  limited(@Payload(lookUp) _orders: unknown, @Signal() signal: AbortSignal) {
    return of({ text: run(signal) });
  }

  @GrpcStreamMethod('Calls', 'Bidi')
  @Budgeted()
  budgeted(@Payload(lookUp) _orders: unknown, @Signal() signal: AbortSignal) {
    return of({ text: run(signal) });
  }

  @GrpcMethod('Calls', 'Unary')
  @Repeated()
  repeated(@Payload(lookUp) _order: unknown, @Signal() signal: AbortSignal) {
    return { text: run(signal) };
  }

  @GrpcMethod('Calls', 'ServerStream')
  @Patient()
  patient(@Payload(lookUp) _order: unknown, @Signal() signal: AbortSignal) {
    return of({ text: run(signal) });
  }
}

describe('A handler on gRPC', () => {
  closeGrpcAfterEach();

  testLateHandlers(async () => {
    const app = await startGrpc({ controllers: [QuotesHandlers], options: { abortOnDisconnect: 'always' } });

    return {
      ...app,
      ask: async (handler) => (await app.call(METHODS[handler])).values[0],
      open: async (handler) => {
        const call = app.open(METHODS[handler] satisfies Method);
        return () => call.cancel();
      },
    };
  });
});
