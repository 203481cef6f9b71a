import { Idempotency } from '@node-idempotency/core';
import { MemoryStorageAdapter } from '@node-idempotency/storage-adapter-memory';
import {
  Body,
  Controller,
  Injectable,
  Module,
  Post,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { Idempotent, IdempotencyModule } from '@nestjs/idempotency';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { idempotency as expressIdempotency, getSharedIdempotencyService } from 'express-idempotency';
import { from, mergeMap, of, type Observable } from 'rxjs';
import { capture, type ORDER, type Payment } from './payments.js';

@Controller('payments')
class PlainPayments {
  @Post()
  create(@Body() order: typeof ORDER): Payment {
    return capture(order);
  }
}

@Controller('payments')
class IdempotentPayments {
  @Post()
  @Idempotent({ required: true })
  create(@Body() order: typeof ORDER): Payment {
    return capture(order);
  }
}

class PassThroughInterceptor implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle();
  }
}

/** As the package's own plugin for NestJS does it, without what that does for each call by reflection. */
@Injectable()
class NodeIdempotencyInterceptor implements NestInterceptor {
  private readonly idempotency = new Idempotency(new MemoryStorageAdapter());

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { headers, body, url: path, method } = context.switchToHttp().getRequest<Request>();
    const request = { headers, body: body as Record<string, unknown>, path, method };

    return from(this.idempotency.onRequest<Payment, unknown>(request)).pipe(
      mergeMap((stored) => {
        if (stored !== undefined) return of(stored.body);

        return next.handle().pipe(
          mergeMap(async (value: Payment) => {
            await this.idempotency.onResponse(request, { body: value });
            return value;
          }),
        );
      }),
    );
  }
}

/** Replays what the first call of the route got, from memory. */
@Module({ imports: [IdempotencyModule.forRoot({ scope: false })], controllers: [IdempotentPayments] })
export class IdempotentModule {}

/** The same route with one global interceptor that does nothing. */
@Module({
  controllers: [PlainPayments],
  providers: [{ provide: APP_INTERCEPTOR, useClass: PassThroughInterceptor }],
})
export class PlainPaymentsModule {}

/** The same replays by another package. */
@Module({
  controllers: [PlainPayments],
  providers: [{ provide: APP_INTERCEPTOR, useClass: NodeIdempotencyInterceptor }],
})
export class NodeIdempotencyModule {}

/** What goes in front of {@link PlainPaymentsModule} so that `express-idempotency` replays. */
export function expressIdempotencyMiddleware(): readonly RequestHandler[] {
  return [expressIdempotency(), endReplays];
}

/** That package calls what comes after it also when it has answered. */
function endReplays(request: Request, _response: Response, next: NextFunction): void {
  if (!getSharedIdempotencyService().isHit(request)) next();
}
