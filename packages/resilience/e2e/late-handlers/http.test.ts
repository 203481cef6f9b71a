import { Controller, Get, Query } from '@nestjs/common';
import { Signal } from '@nestjs/resilience';
import { onBothAdapters } from '../fixtures/application.js';
import { send } from '../fixtures/client.js';
import { Budgeted, Limited, lookUp, Patient, Repeated, run, testLateHandlers } from '../fixtures/late-pipes.js';

@Controller()
class QuotesController {
  @Get('limited')
  @Limited()
  limited(@Query('order', lookUp) _order: string, @Signal() signal: AbortSignal) {
    return run(signal);
  }

  @Get('budgeted')
  @Budgeted()
  budgeted(@Query('order', lookUp) _order: string, @Signal() signal: AbortSignal) {
    return run(signal);
  }

  @Get('repeated')
  @Repeated()
  repeated(@Query('order', lookUp) _order: string, @Signal() signal: AbortSignal) {
    return run(signal);
  }

  @Get('patient')
  @Patient()
  patient(@Query('order', lookUp) _order: string, @Signal() signal: AbortSignal) {
    return run(signal);
  }
}

onBothAdapters('A handler over HTTP', (start) => {
  testLateHandlers(async () => {
    const app = await start({ controllers: [QuotesController] });

    return {
      ...app,
      ask: async (handler) => {
        const { status, text } = await app.call(`/${handler}`);
        return status === 200 ? text : undefined;
      },
      open: async (handler) => {
        const request = send(`${app.url}/${handler}`);
        return () => request.destroy();
      },
    };
  });
});
