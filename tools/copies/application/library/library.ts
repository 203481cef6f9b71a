import { Controller, Get } from '@nestjs/common';
import { Resolver, Subscription } from '@nestjs/graphql';
import { Bulkhead, ResilienceContext, Signal, Timeout } from '@nestjs/resilience';
import { createPolicy, fanOut, optional, required } from 'holdfast';
import { ContextOfPlugin } from './plugin/plugin.js';

/** A library of entrypoints, which has copies of its own of both packages. */

const never = new Promise<never>(() => {});

@Controller('library')
export class LibraryController {
  private readonly context = new ResilienceContext();
  private readonly sameContext = new ContextOfPlugin();

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

  /** What is not decorated has no attempts, of which the application is to be warned. */
  @Get('pointless')
  pointless(@Signal() signal: AbortSignal | undefined) {
    return { signal: typeof signal };
  }
}

@Resolver()
export class LibraryResolver {
  /** Decorators on such a stream do nothing, of which the application is to be warned. */
  @Subscription(() => String)
  @Timeout('50ms')
  async *ticks() {
    yield await never;
  }
}
