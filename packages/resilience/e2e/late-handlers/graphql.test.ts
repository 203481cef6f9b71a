import { Injectable } from '@nestjs/common';
import { Args, Query, Resolver } from '@nestjs/graphql';
import { Signal } from '@nestjs/resilience';
import { send } from '../fixtures/client.js';
import { onEachServer } from '../fixtures/graphql.js';
import { Budgeted, Limited, lookUp, Patient, Repeated, run, testLateHandlers } from '../fixtures/late-pipes.js';

@Injectable()
@Resolver()
class QuotesResolver {
  @Query(() => String)
  @Limited()
  limited(@Args('order', lookUp) _order: string, @Signal() signal: AbortSignal): string {
    return run(signal);
  }

  @Query(() => String)
  @Budgeted()
  budgeted(@Args('order', lookUp) _order: string, @Signal() signal: AbortSignal): string {
    return run(signal);
  }

  @Query(() => String)
  @Repeated()
  repeated(@Args('order', lookUp) _order: string, @Signal() signal: AbortSignal): string {
    return run(signal);
  }

  @Query(() => String)
  @Patient()
  patient(@Args('order', lookUp) _order: string, @Signal() signal: AbortSignal): string {
    return run(signal);
  }
}

onEachServer('A resolver', (start) => {
  testLateHandlers(async () => {
    const app = await start({ providers: [QuotesResolver] });
    const queryOf = (handler: string) => `{ ${handler}(order: "1") }`;

    return {
      ...app,
      ask: async (handler) => {
        const { body } = await app.query(queryOf(handler));
        return (body.data as Record<string, unknown> | null)?.[handler];
      },
      open: async (handler) => {
        const request = send(`${app.url}/graphql`, { method: 'POST', body: { query: queryOf(handler) } });
        return () => request.destroy();
      },
    };
  });
});
