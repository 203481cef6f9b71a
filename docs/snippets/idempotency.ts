import { randomUUID } from 'node:crypto';

export interface Payment {
  readonly id: string;
  readonly amount: number;
}

/** Stands for the service that does what must be done once. */
export class Bank {
  readonly charged: number[] = [];

  async charge(amount: number): Promise<Payment> {
    this.charged.push(amount);

    return { id: `payment-${this.charged.length}`, amount };
  }
}

// #region payments
import { Body, Controller, Get, Post } from '@nestjs/common';
import { Idempotent } from '@nestjs/idempotency';

@Controller('payments')
export class PaymentsController {
  constructor(private readonly bank: Bank) {}

  @Post()
  @Idempotent({ required: true, ttl: '7d' })
  pay(@Body() body: { amount: number }): Promise<Payment> {
    return this.bank.charge(body.amount);
  }
}
// #endregion

// #region whole-class
import { Resilience } from '@nestjs/resilience';

@Controller('refunds')
@Idempotent({ required: true })
export class RefundsController {
  constructor(private readonly bank: Bank) {}

  @Get()
  list(): readonly number[] {
    return this.bank.charged; // a class covers no GET
  }

  @Post()
  @Resilience('bank') // a preset of the module
  refund(@Body() body: { amount: number }): Promise<Payment> {
    return this.bank.charge(-body.amount);
  }

  @Post('preview')
  @Idempotent(false) // changes nothing
  preview(@Body() body: { amount: number }): { amount: number } {
    return { amount: -body.amount };
  }
}
// #endregion

interface SignedIn {
  readonly user?: { readonly id: string };
}

/** Stands for a service that is only read. */
export class Rates {
  async today(_signal: AbortSignal): Promise<number> {
    return 2;
  }
}

// #region signal
import { Signal } from '@nestjs/resilience';

@Controller('payouts')
export class PayoutsController {
  constructor(
    private readonly rates: Rates,
    private readonly bank: Bank,
  ) {}

  @Post()
  @Idempotent({ required: true })
  async pay(@Body() body: { amount: number }, @Signal() signal: AbortSignal): Promise<Payment> {
    const rate = await this.rates.today(signal);
    signal.throwIfAborted();

    return this.bank.charge(body.amount * rate);
  }
}
// #endregion

// #region module
import { Module } from '@nestjs/common';
import { IdempotencyModule } from '@nestjs/idempotency';
import { ResilienceModule } from '@nestjs/resilience';

@Module({
  imports: [
    // The first one stands outside: a replay waits for no retry, no breaker and no timeout.
    IdempotencyModule.forRoot({ scope: { http: (request: SignedIn) => request.user?.id } }),
    ResilienceModule.forRoot({ presets: { bank: { timeout: '2s', circuitBreaker: { minimumCalls: 10 } } } }),
  ],
  controllers: [PaymentsController, RefundsController],
  providers: [Bank],
})
export class PaymentsModule {}
// #endregion

export interface Invoice {
  readonly id: string;
  readonly total: number;
}

// #region service
import { Injectable } from '@nestjs/common';
import { IdempotencyService } from '@nestjs/idempotency';

@Injectable()
export class InvoiceJob {
  constructor(
    private readonly idempotency: IdempotencyService,
    private readonly bank: Bank,
  ) {}

  /** The queue delivers at least once: a job that comes again gets the payment that it has made. */
  collect(jobId: string, invoice: Invoice): Promise<Payment> {
    const options = { name: 'invoices.collect', payload: invoice };

    return this.idempotency.run(jobId, () => this.bank.charge(invoice.total), options);
  }
}
// #endregion

// #region multipart
import type { ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';

@Controller('uploads')
export class UploadsController {
  /** A body that no parser has read is not compared: let its digest, which clients send, stand for it. */
  @Post()
  @Idempotent({ fingerprint: (_body, context: ExecutionContext) => digestOf(context) })
  upload(): { id: string } {
    return { id: randomUUID() };
  }
}

function digestOf(context: ExecutionContext): string | undefined {
  return context.switchToHttp().getRequest<Request>().get('content-digest');
}
// #endregion
