import { Controller, Get, Post } from '@nestjs/common';
import { Field, ObjectType, Query, ResolveField, Resolver } from '@nestjs/graphql';
import { Idempotent } from '@nestjs/idempotency';
import { Bulkhead, ResilienceContext, Signal, Timeout } from '@nestjs/resilience';
import { createPolicy, fanOut, optional, required } from 'holdfast';
import { ContextOfPlugin } from './plugin/plugin.js';

/** A library of entrypoints, which has copies of its own of our packages. */

const never = new Promise<never>(() => {});

@Controller('library')
export class LibraryController {
  private readonly context = new ResilienceContext();
  private readonly sameContext = new ContextOfPlugin();
  private bookings = 0;

  @Get('slow')
  @Timeout('50ms')
  slow(@Signal() signal: AbortSignal) {
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
  }

  /** Hears of nothing, and never ends. */
  @Get('deaf')
  @Timeout('50ms')
  @Bulkhead({ maxConcurrent: 1, holdUntilSettled: true })
  deaf() {
    return never;
  }

  @Get('context')
  @Timeout('1m')
  attempt(@Signal() signal: AbortSignal) {
    return {
      attempt: this.context.attempt,
      isTheSame: this.context.signal === signal && this.sameContext.signal === signal,
    };
  }

  @Get('policy')
  async policy() {
    const policy = createPolicy({ timeout: '50ms' }, 'library');

    return { failed: await policy.execute(() => never).catch((error: Error) => error.name) };
  }

  @Get('page')
  @Timeout('1m')
  page() {
    return fanOut(
      {
        quotes: required(() => ['ground']),
        reviews: optional(() => Promise.reject(new Error('down')), { timeout: '1s', fallback: null }),
      },
      { name: 'page' },
    );
  }

  @Post('page')
  @Idempotent()
  @Timeout('1m')
  bookedPage() {
    return this.page();
  }

  @Post('bookings')
  @Idempotent()
  book() {
    return { booked: ++this.bookings };
  }

  /** What is not decorated has no attempts, of which the application is to be warned. */
  @Get('pointless')
  pointless(@Signal() signal: AbortSignal | undefined) {
    return { signal: typeof signal };
  }
}

@ObjectType('Library')
class Library {
  @Field(() => String)
  readonly name = 'library';
}

@Resolver(() => Library)
export class LibraryResolver {
  @Query(() => Library)
  library() {
    return new Library();
  }

  /** Nest runs fields without interceptors, of which the application is to be warned. */
  @ResolveField(() => String)
  @Timeout('50ms')
  motto() {
    return 'read';
  }
}
