import {
  All,
  BadRequestException,
  Body,
  Controller,
  Delete,
  Get,
  Head,
  HttpException,
  Injectable,
  Module,
  Options,
  Patch,
  Post,
  Put,
  UseGuards,
  UseInterceptors,
  UsePipes,
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  type NestInterceptor,
  type PipeTransform,
} from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { CircuitBreaker, CircuitOpenError, Resilience, Retry, Timeout } from '@nestjs/resilience';
import { tap } from 'rxjs';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { freezeTime, onBothAdapters } from './fixtures/application.js';
import { Backend, DependencyError, isPending } from './fixtures/backend.js';

let backend: Backend;
const down = new Error('down');

beforeEach(() => {
  backend = new Backend();
  backend.script((call) => call.fail(down));
});

const AT_ONCE = { attempts: 3, backoff: { delay: 0 } } as const;

@Controller('methods')
class MethodsController {
  @Get()
  @Retry(AT_ONCE)
  get() {
    return backend.call();
  }

  @Head('head')
  @Retry(AT_ONCE)
  head() {
    return backend.call();
  }

  @Options()
  @Retry(AT_ONCE)
  options() {
    return backend.call();
  }

  @Post()
  @Retry(AT_ONCE)
  post() {
    return backend.call();
  }

  @Put()
  @Retry(AT_ONCE)
  put() {
    return backend.call();
  }

  @Patch()
  @Retry(AT_ONCE)
  patch() {
    return backend.call();
  }

  @Delete()
  @Retry(AT_ONCE)
  delete() {
    return backend.call();
  }

  @All('all')
  @Retry(AT_ONCE)
  all() {
    return backend.call();
  }

  @Post('preset')
  @Resilience('carrier')
  preset() {
    return backend.call();
  }

  @Post('idempotent')
  @Resilience('carrier')
  @Retry({ idempotent: true })
  idempotent(@Body() body: unknown) {
    bodies.push(body);
    return backend.call();
  }
}

const bodies: unknown[] = [];

onBothAdapters('A retry over HTTP', (start) => {
  const options = { presets: { carrier: { retry: { attempts: 2, backoff: { delay: 0 } } } } };
  const startMethods = () => start({ controllers: [MethodsController], options });

  it.each([
    ['GET', '/methods', 3],
    ['HEAD', '/methods', 3],
    ['HEAD', '/methods/head', 3],
    ['OPTIONS', '/methods', 3],
    ['POST', '/methods', 1],
    ['PUT', '/methods', 1],
    ['PATCH', '/methods', 1],
    ['DELETE', '/methods', 1],
    ['GET', '/methods/all', 3],
    ['POST', '/methods/all', 1],
    ['POST', '/methods/preset', 1],
    ['POST', '/methods/idempotent', 2],
  ])('%s %s makes %i attempts', async (method, path, attempts) => {
    const { call } = await startMethods();

    expect((await call(path, { method })).status).toBe(500);
    expect(backend.calls).toHaveLength(attempts);
  });

  it('repeats a declared-idempotent POST with the same body', async () => {
    bodies.length = 0;
    const { call } = await startMethods();

    await call('/methods/idempotent', { method: 'POST', body: { order: 7 } });

    expect(bodies).toEqual([{ order: 7 }, { order: 7 }]);
  });

  it('answers with the first attempt that succeeds, with the status of the route', async () => {
    backend.script((call, nth) => (nth < 3 ? call.fail(down) : call.answer('third')));
    const { call, log } = await startMethods();

    const get = await call('/methods');
    expect(get).toMatchObject({ status: 200, text: 'third' });
    const post = await call('/methods/idempotent', { method: 'POST', body: {} });
    expect(post).toMatchObject({ status: 201, text: 'third' });
    expect(log.errors).toEqual([]);
  });

  it('answers with the last error when none succeeds', async () => {
    backend.script((call, nth) => call.fail(nth === 3 ? new HttpException('last', 502) : down));
    const { call } = await startMethods();

    expect(await call('/methods')).toMatchObject({ status: 502, body: { message: 'last' } });
  });
});

const ran: string[] = [];

@Injectable()
class CountingGuard implements CanActivate {
  canActivate(): boolean {
    ran.push('guard');
    return true;
  }
}

@Injectable()
class CountingPipe implements PipeTransform {
  transform(value: unknown): unknown {
    ran.push('pipe');
    return value;
  }
}

@Injectable()
class CountingInterceptor implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler) {
    ran.push('interceptor');
    return next.handle().pipe(tap({ error: () => ran.push('interceptor saw the error') }));
  }
}

@Controller('inner')
@UseGuards(CountingGuard)
@UseInterceptors(CountingInterceptor)
class InnerController {
  @Get()
  @UsePipes(CountingPipe)
  @Retry({ attempts: 2, backoff: { delay: 0 } })
  get(@Body() _body: unknown) {
    ran.push('handler');
    return backend.call();
  }
}

@Injectable()
class OuterInterceptor implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler) {
    ran.push('outer');
    return next.handle().pipe(tap({ error: (error: unknown) => ran.push(`outer saw ${String(error)}`) }));
  }
}

@Module({ providers: [{ provide: APP_INTERCEPTOR, useClass: OuterInterceptor }] })
class OuterModule {}

onBothAdapters('What an attempt consists of', (start) => {
  it('is nothing of the interceptors of modules imported before: they run once, and see what is answered', async () => {
    ran.length = 0;
    backend.script((call, nth) => call.fail(nth === 1 ? down : new CircuitOpenError('inside', 1)));
    const { call } = await start({ controllers: [InnerController], before: [OuterModule] });

    await call('/inner');

    expect(ran.filter((entry) => entry === 'handler')).toHaveLength(2);
    expect(ran.filter((entry) => entry.startsWith('outer'))).toEqual([
      'outer',
      'outer saw HttpException: Service temporarily unavailable',
    ]);
  });

  it('is pipes, inner interceptors and the handler; guards and middleware run once', async () => {
    ran.length = 0;
    const { call } = await start({
      controllers: [InnerController],
      middleware: (consumer) =>
        consumer
          .apply((_request: unknown, _response: unknown, next: () => void) => {
            ran.push('middleware');
            next();
          })
          .forRoutes(InnerController),
    });

    await call('/inner');

    const attempt = ['interceptor', 'pipe', 'handler', 'interceptor saw the error'];
    expect(ran).toEqual(['middleware', 'guard', ...attempt, ...attempt]);
  });
});

let attemptsOfRetryIf: number[] = [];

@Controller('decisions')
class DecisionsController {
  @Get()
  @Retry(AT_ONCE)
  get() {
    return backend.call();
  }

  @Get('own')
  @Retry({
    ...AT_ONCE,
    retryIf: (error, attempt) => {
      attemptsOfRetryIf.push(attempt);
      return error instanceof BadRequestException;
    },
  })
  own() {
    return backend.call();
  }

  @Get('broken')
  @Retry({
    ...AT_ONCE,
    retryIf: () => {
      throw new HttpException('predicate broke', 599);
    },
  })
  broken() {
    return backend.call();
  }

  @Get('results')
  @Resilience('results')
  results() {
    return backend.call();
  }

  @Get('refused')
  @Retry(AT_ONCE)
  @CircuitBreaker('refusing')
  @Timeout('1m')
  refused() {
    return backend.call();
  }
}

onBothAdapters('What is repeated', (start) => {
  const startDecisions = () =>
    start({
      controllers: [DecisionsController],
      options: {
        presets: {
          results: { retry: { ...AT_ONCE, retryOnResult: () => true } },
          refusing: { circuitBreaker: { openDuration: '1m' } },
        },
      },
    });

  it.each([
    ['an error', down, 3, 500],
    ['a 503 of the handler', new HttpException('busy', 503), 3, 503],
    ['a 404 of the handler', new HttpException('no such order', 404), 1, 404],
    ['a 408 that the handler answers', new HttpException('slow client', 408), 1, 408],
    ['a 429 that the handler answers', new HttpException('slow down', 429), 1, 429],
    ['a 500 of a dependency', new DependencyError(500), 3, 500],
    ['a 422 of a dependency', new DependencyError(422), 1, 500],
    ['a 408 of a dependency', new DependencyError(408), 3, 500],
    ['a 429 of a dependency', new DependencyError(429), 3, 500],
  ])('%s', async (_, error, attempts, status) => {
    backend.script((call) => call.fail(error));
    const { call } = await startDecisions();

    expect((await call('/decisions')).status).toBe(status);
    expect(backend.calls).toHaveLength(attempts);
  });

  it('is up to retryIf entirely where there is one, told the failed attempt', async () => {
    attemptsOfRetryIf = [];
    backend.script((call) => call.fail(new BadRequestException('again')));
    const { call } = await startDecisions();

    expect((await call('/decisions/own')).status).toBe(400);
    expect(backend.calls).toHaveLength(3);
    expect(attemptsOfRetryIf).toEqual([1, 2]);
  });

  it('is nothing when retryIf itself fails: its error takes the place', async () => {
    const { call } = await startDecisions();

    expect(await call('/decisions/broken')).toMatchObject({ status: 599, body: { message: 'predicate broke' } });
    expect(backend.calls).toHaveLength(1);
  });

  it('is never a result, although the preset would in a policy object', async () => {
    backend.script((call) => call.answer('fine'));
    const { call, resilience } = await startDecisions();

    expect((await call('/decisions/results')).text).toBe('fine');
    expect(backend.calls).toHaveLength(1);
    await resilience.preset('results').execute(() => backend.call());
    expect(backend.calls).toHaveLength(4);
  });

  it('is never a refusal of a policy', async () => {
    const { call, resilience, events } = await startDecisions();
    resilience.circuitBreaker('refusing').trip();
    events.length = 0;

    expect((await call('/decisions/refused')).status).toBe(503);
    expect(events.map(({ type }) => type)).toEqual(['circuit-rejected']);
  });
});

@Controller('waits')
class WaitsController {
  @Get()
  @Retry({ attempts: 2, backoff: { delay: 200, jitter: 'none' } })
  get() {
    return backend.call();
  }

  @Get('deaf')
  @Retry({ attempts: 2, backoff: { delay: 200, jitter: 'none' }, retryAfter: false })
  deaf() {
    return backend.call();
  }
}

onBothAdapters('The wait between two attempts', (start) => {
  beforeEach(() => {
    backend.script((call, nth) => (nth === 1 ? call.fail(down) : call.answer('second')));
  });

  it('is the backoff, to the millisecond', async () => {
    const { call, events } = await start({ controllers: [WaitsController] });
    freezeTime();
    const answer = call('/waits');
    await backend.reached(1);

    await vi.advanceTimersByTimeAsync(199);
    expect(await isPending(answer)).toBe(true);
    expect(backend.calls).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);

    expect((await answer).text).toBe('second');
    expect(events).toEqual([
      {
        type: 'retry',
        policy: 'WaitsController.get',
        source: 'WaitsController.get',
        attempt: 1,
        delayMs: 200,
        error: down,
      },
    ]);
  });

  it.each([
    ['/waits', 2_000],
    ['/waits/deaf', 200],
  ])('of %s is %i ms when the dependency asks for two seconds', async (path, wait) => {
    backend.script((call, nth) =>
      nth === 1 ? call.fail(new DependencyError(503, { 'retry-after': '2' })) : call.answer('second'),
    );
    const { call } = await start({ controllers: [WaitsController] });
    freezeTime();
    const answer = call(path);
    await backend.reached(1);

    await vi.advanceTimersByTimeAsync(wait - 1);
    expect(await isPending(answer)).toBe(true);
    await vi.advanceTimersByTimeAsync(1);

    expect((await answer).text).toBe('second');
  });

  it('does not begin when the dependency asks for more than the backoff may last', async () => {
    backend.script((call) =>
      call.fail(new HttpException('busy', 503, { cause: new DependencyError(503, { 'retry-after': '31' }) })),
    );
    const { call, events } = await start({ controllers: [WaitsController] });

    expect((await call('/waits')).status).toBe(503);
    expect(backend.calls).toHaveLength(1);
    expect(events).toEqual([]);
  });
});

@Controller('levels')
@Retry({ attempts: 2, backoff: { delay: 0 } })
class LevelsController {
  @Get('class')
  ofClass() {
    return backend.call();
  }

  @Get('off')
  @Retry(false)
  off() {
    return backend.call();
  }

  @Get('more')
  @Retry(4)
  more() {
    return backend.call();
  }

  @Get('preset')
  @Resilience('carrier')
  preset() {
    return backend.call();
  }

  @Post('posted')
  posted() {
    return backend.call();
  }
}

describe('Where the attempts come from', () => {
  onBothAdapters('levels', (start) => {
    it.each([
      ['GET', 'class', 2],
      ['GET', 'off', 1],
      ['GET', 'more', 4],
      ['GET', 'preset', 5],
      ['POST', 'posted', 1],
    ])('%s %s: %i', async (method, path, attempts) => {
      const { call } = await start({
        controllers: [LevelsController],
        options: { presets: { carrier: { retry: { attempts: 5, backoff: { delay: 0 } } } } },
      });

      await call(`/levels/${path}`, { method });

      expect(backend.calls).toHaveLength(attempts);
    });
  });
});
