import { Controller, Get, Post } from '@nestjs/common';
import { Query, Resolver } from '@nestjs/graphql';
import { Idempotent } from '@nestjs/idempotency';
import { MessagePattern } from '@nestjs/microservices';
import { CircuitBreaker, ResilienceContext, Timeout } from '@nestjs/resilience';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { CircuitOpenError, createPolicy, ResilienceTimeoutError } from 'holdfast';
import { EventCounts } from './event-counts.js';

/** Entrypoints of the application, whose engine is another copy than that of the package which serves them. */

const refusal = () => new CircuitOpenError('of the application', 1_500);

/** What became of the policy inside of an attempt that was given up. */
let lastReason: unknown;

function never(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)));
}

@Controller()
export class HttpQuotes {
  constructor(
    private readonly context: ResilienceContext,
    private readonly events: EventCounts,
  ) {}

  @Get('slow')
  @Timeout('50ms')
  slow() {
    return never(this.context.signal);
  }

  @Post('slow')
  @Timeout('50ms')
  @Idempotent()
  slowBooking() {
    return never(this.context.signal);
  }

  @Post('refused')
  @Timeout('1m')
  @Idempotent()
  refusedBooking() {
    throw refusal();
  }

  @Get('open')
  @Timeout('1m')
  @CircuitBreaker('open')
  open() {
    return 'unreachable';
  }

  @Get('refused')
  @Timeout('1m')
  refused() {
    throw refusal();
  }

  @Get('counted')
  @Timeout('1m')
  @CircuitBreaker({ minimumCalls: 2, openDuration: '1h' })
  counted() {
    throw new ResilienceTimeoutError(50, 'of the application');
  }

  @Get('inside')
  @Timeout('50ms')
  async inside() {
    await createPolicy({ timeout: '1m', bulkhead: { maxConcurrent: 1 } })
      .execute(({ signal }) => never(signal))
      .catch((error: unknown) => (lastReason = error));
  }

  @Get('reason-inside')
  reasonInside() {
    const { name, message } = lastReason as Error;

    return { name, message };
  }

  @Get('events')
  takeEvents() {
    return this.events.take();
  }
}

@Controller()
export class MessageQuotes {
  constructor(private readonly context: ResilienceContext) {}

  @MessagePattern('slow')
  @Timeout('50ms')
  slow() {
    return never(this.context.signal);
  }

  @MessagePattern('open')
  @Timeout('1m')
  @CircuitBreaker('open')
  open() {
    return 'unreachable';
  }

  @MessagePattern('book')
  @Idempotent({ required: true })
  book() {
    return 'unreachable';
  }

  @MessagePattern('refused')
  @Timeout('1m')
  refused() {
    throw refusal();
  }
}

@Resolver()
export class QuotesResolver {
  constructor(private readonly context: ResilienceContext) {}

  @Query(() => String, { nullable: true })
  @Timeout('50ms')
  slow() {
    return never(this.context.signal);
  }

  @Query(() => String, { nullable: true })
  @Timeout('1m')
  @CircuitBreaker('open')
  open() {
    return 'unreachable';
  }

  @Query(() => String, { nullable: true })
  @Idempotent({ required: true })
  booked() {
    return 'unreachable';
  }

  @Query(() => String, { nullable: true })
  @Timeout('1m')
  refused() {
    throw refusal();
  }
}

@WebSocketGateway()
export class QuotesGateway {
  constructor(private readonly context: ResilienceContext) {}

  @SubscribeMessage('slow')
  @Timeout('50ms')
  slow() {
    return never(this.context.signal);
  }

  @SubscribeMessage('open')
  @Timeout('1m')
  @CircuitBreaker('open')
  open() {
    return 'unreachable';
  }

  @SubscribeMessage('refused')
  @Timeout('1m')
  refused() {
    throw refusal();
  }
}
