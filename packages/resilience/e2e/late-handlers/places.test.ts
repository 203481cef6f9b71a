import {
  Controller,
  Get,
  Injectable,
  Query,
  Scope,
  Sse,
  UseInterceptors,
  UsePipes,
  type CallHandler,
  type NestInterceptor,
  type PipeTransform,
} from '@nestjs/common';
import {
  Fallback,
  ResilienceContext,
  ResilienceTimeoutError,
  Retry,
  RetryPolicy,
  Signal,
  Timeout,
  TimeoutPolicy,
} from '@nestjs/resilience';
import { createPolicy } from 'holdfast';
import { from, lastValueFrom, Observable, of, raceWith, retry, tap } from 'rxjs';
import { beforeEach, expect, it, vi } from 'vitest';
import { freezeTime, onBothAdapters, type Application } from '../fixtures/application.js';
import { Backend, turns } from '../fixtures/backend.js';

let lookups: Backend;
let backend: Backend;
/** The handlers that have run, in order. */
let runs: string[];
let signals: (AbortSignal | undefined)[];
let heard: unknown[];

beforeEach(() => {
  lookups = new Backend();
  backend = new Backend();
  runs = [];
  signals = [];
  heard = [];
});

const lookUp: PipeTransform = {
  async transform(value: unknown) {
    await lookups.call();
    return value;
  },
};

const run = (name: string): string => {
  runs.push(name);
  return name;
};

/** A decorator of an application's own, which puts a method of its own in place of the handler. */
const Noted: MethodDecorator = (_target, _key, descriptor: PropertyDescriptor) => {
  const method = descriptor.value as Function;
  const noting = function (this: unknown, ...parameters: unknown[]): unknown {
    return method.apply(this, parameters);
  };
  for (const key of Reflect.getOwnMetadataKeys(method) as unknown[]) {
    Reflect.defineMetadata(key, Reflect.getOwnMetadata(key, method), noting);
  }
  descriptor.value = noting;
};

abstract class BaseController {
  @Get('inherited')
  inherited(@Query('order', lookUp) _order: string) {
    return run('inherited');
  }
}

@Controller('places')
@Timeout(100)
class PlacesController extends BaseController {
  @Get('own')
  own(@Query('order', lookUp) _order: string) {
    return run('own');
  }

  @Get('noted')
  @Timeout(100)
  @Noted
  noted(@Query('order', lookUp) _order: string) {
    return run('noted');
  }

  @Sse('events')
  events(@Query('order', lookUp) _order: string) {
    return of({ data: run('events') });
  }

  @Noted
  @Get('noted-last')
  @Timeout(100)
  notedLast(@Query('order', lookUp) _order: string) {
    return run('noted-last');
  }
}

@Controller('outside')
class OutsideController {
  @Get()
  outside(@Query('order', lookUp) _order: string) {
    return run('outside');
  }
}

const decorated = Object.getOwnPropertyDescriptor(OutsideController.prototype, 'outside') as PropertyDescriptor;
(Timeout(100) as MethodDecorator)(OutsideController.prototype, 'outside', decorated);

@Controller({ path: 'scoped', scope: Scope.REQUEST })
class ScopedController {
  @Get()
  @Timeout(100)
  scoped(@Query('order', lookUp) _order: string) {
    return run('scoped');
  }
}

@Controller('undecorated')
class UndecoratedController {
  @Get()
  undecorated(@Query('order', lookUp) _order: string) {
    return run('undecorated');
  }
}

const ask = async ({ call }: Application, path: string) => {
  const answer = call(path);
  await lookups.reached(1);
  await vi.advanceTimersByTimeAsync(100);
  return answer;
};

const end = async (nth: number): Promise<void> => {
  lookups.calls[nth - 1]?.answer('found');
  await turns();
};

onBothAdapters('A handler whose pipe ends after its attempt was given up', (start) => {
  const startPlaces = () =>
    start({ controllers: [PlacesController, OutsideController, ScopedController, UndecoratedController] });

  it.each(['/places/own', '/places/inherited', '/places/noted', '/places/noted-last', '/outside', '/scoped'])(
    'does not run, wherever it was decorated: %s',
    async (path) => {
      const app = await startPlaces();
      freezeTime();
      expect((await ask(app, path)).status).toBe(504);
      await end(1);

      expect(runs).toEqual([]);
      expect(app.log).toMatchObject({ errors: [], warnings: [] });
    },
  );

  it('does not run where it sends events', async () => {
    const app = await startPlaces();
    freezeTime();
    await ask(app, '/places/events');
    await end(1);

    expect(runs).toEqual([]);
    expect(app.log).toMatchObject({ errors: [], warnings: [] });
  });

  it('does not run when the pipe has ended in the very tick, and the attempt was given up before the handler', async () => {
    const app = await startPlaces();
    freezeTime();
    const answer = app.call('/places/own');
    const lookup = await lookups.reached(1);
    lookup.answer('found');
    vi.advanceTimersByTime(100);

    expect((await answer).status).toBe(504);
    await turns();
    expect(runs).toEqual([]);
  });

  it('runs as Nest lets it where it has no plan', async () => {
    const app = await startPlaces();
    const answer = app.call('/undecorated');
    await lookups.reached(1);
    await end(1);

    expect((await answer).text).toBe('undecorated');
  });
});

@Injectable()
class Desk {
  readonly controller = { current: undefined as unknown as DirectController };

  quote(): unknown {
    return this.controller.current.other('');
  }
}

@Controller('direct')
@Timeout(100)
class DirectController {
  constructor(private readonly desk: Desk) {
    desk.controller.current = this;
  }

  @Get('deaf')
  async deaf() {
    await backend.call();
    heard = [this.other('itself'), this.desk.quote(), await this.again(2)];
  }

  @Get('other')
  other(@Query('order') _order: string) {
    return run('other');
  }

  @Get('again')
  async again(@Query('count') count: number): Promise<string> {
    if (count > 0) return this.again(count - 1);

    return run('again');
  }

  @Get('answered')
  @Fallback('other', { handleIf: (error) => error instanceof ResilienceTimeoutError })
  answered(@Query('order', lookUp) _order: string) {
    return run('answered');
  }

  @Get('failing')
  @Fallback('other')
  async failing(@Query('order') _order: string) {
    await backend.call();
    throw new Error('down');
  }
}

onBothAdapters('A handler that is called as a method', (start) => {
  const startDirect = () => start({ controllers: [DirectController], providers: [Desk] });

  it('runs, although the attempt that its caller runs in was given up', async () => {
    const app = await startDirect();
    freezeTime();
    const answer = app.call('/direct/deaf');
    const running = await backend.reached(1);
    await vi.advanceTimersByTimeAsync(100);
    expect((await answer).status).toBe(504);
    running.answer('late');
    await turns();

    expect(heard).toEqual(['other', 'other', 'again']);
    expect(app.log.errors).toEqual([]);
  });

  it('runs as the fallback of another one that was given up, which does not run after it', async () => {
    const app = await startDirect();
    freezeTime();
    expect((await ask(app, '/direct/answered')).text).toBe('other');
    await end(1);

    expect(runs).toEqual(['other']);
  });

  it('runs as the fallback of another one that has failed', async () => {
    const app = await startDirect();
    const answer = app.call('/direct/failing');
    (await backend.reached(1)).answer('late');

    expect((await answer).text).toBe('other');
  });
});

/** An interceptor around the pipes and the handler. */
const Inner = (around: (next: CallHandler) => Observable<unknown>): ReturnType<typeof UseInterceptors> => {
  const interceptor: NestInterceptor = { intercept: (_context, next) => around(next) };

  return UseInterceptors(interceptor);
};

const note = (error: unknown): never => {
  heard.push(error);
  throw error;
};

/** As `timeout()` of RxJS, which keeps time by intervals. */
const limit = (): Observable<never> =>
  new Observable((subscriber) => {
    const timer = setTimeout(() => subscriber.error(new Error('it took too long')), 100);
    return () => clearTimeout(timer);
  });

const RETRY = { attempts: 2, backoff: { delay: 20, jitter: 'none' } } as const;
const impatient = createPolicy({ timeout: 100, retry: RETRY }, 'inner');
const around = new ResilienceContext();

@Controller('inner')
class InnerController {
  @Get('limiting')
  @Retry(RETRY)
  @Inner((next) => next.handle().pipe(raceWith(limit())))
  limiting(@Query('order', lookUp) _order: string) {
    return run('limiting');
  }

  @Get('limiting-alone')
  @Timeout('1m')
  @Inner((next) => next.handle().pipe(raceWith(limit())))
  limitingAlone(@Query('order', lookUp) _order: string) {
    return run('limiting-alone');
  }

  @Get('retrying')
  @Timeout('1m')
  @Inner((next) => from(impatient.execute(() => lastValueFrom(next.handle()))))
  retrying(@Query('order', lookUp) _order: string) {
    return run('retrying');
  }

  @Get('bounded')
  @Timeout(100)
  @Inner((next) => from(new RetryPolicy(1).execute(() => lastValueFrom(next.handle()))))
  bounded(@Query('order', lookUp) _order: string) {
    return run('bounded');
  }

  @Get('hiding')
  @Timeout(100)
  @Inner((next) => from(new RetryPolicy(1).execute(() => lastValueFrom(next.handle()), { ambient: false })))
  hiding(@Query('order', lookUp) _order: string) {
    return run('hiding');
  }

  @Get('opening')
  @Timeout(100)
  @Inner((next) => around.run({ signal: new AbortController().signal }, () => from(lastValueFrom(next.handle()))))
  opening(@Query('order', lookUp) _order: string) {
    return run('opening');
  }

  @Get('detaching')
  @Timeout(100)
  @Inner((next) => from(new TimeoutPolicy('1m').execute(() => lastValueFrom(next.handle()), { detached: true })))
  detaching(@Query('order', lookUp) _order: string) {
    return run('detaching');
  }

  @Get('awaiting')
  @Timeout(100)
  @Inner((next) => from(lastValueFrom(next.handle()).catch(note)))
  awaiting(@Query('order', lookUp) _order: string) {
    return run('awaiting');
  }

  @Get('listening')
  @Timeout(100)
  @Inner((next) => next.handle().pipe(tap({ next: note, error: note, complete: () => note('complete') })))
  listening(@Query('order', lookUp) _order: string) {
    return run('listening');
  }

  @Get('revalidating')
  @Timeout(100)
  @Inner((next) => {
    next.handle().subscribe();
    return of('cached');
  })
  revalidating(@Query('order', lookUp) _order: string, @Signal() signal: AbortSignal) {
    signals.push(signal);
    return run('revalidating');
  }

  @Get('again')
  @Timeout(100)
  @Inner((next) => next.handle().pipe(retry(1)))
  again(@Query('order', lookUp) _order: string) {
    run('again');
    throw new Error('down');
  }
}

onBothAdapters('An interceptor inside', (start) => {
  const startInner = () => start({ controllers: [InnerController] });

  it.each(['bounded', 'hiding', 'opening', 'awaiting', 'listening'])(
    'does not bring a handler to run after its attempt was given up: %s',
    async (path) => {
      const app = await startInner();
      freezeTime();
      expect((await ask(app, `/inner/${path}`)).status).toBe(504);
      await end(1);

      expect(runs).toEqual([]);
      expect(heard).toEqual(path === 'awaiting' ? [expect.any(ResilienceTimeoutError)] : []);
      expect(app.events.map(({ type }) => type)).toEqual(['timeout']);
      expect(app.log).toMatchObject({ errors: [], warnings: [] });
      expect(vi.getTimerCount()).toBe(0);
    },
  );

  it.each(['limiting', 'retrying'])(
    'that gives up by itself, and is repeated, does not bring the handler to run twice: %s',
    async (path) => {
      const app = await startInner();
      freezeTime();
      const answer = app.call(`/inner/${path}`);
      await lookups.reached(1);
      await vi.advanceTimersByTimeAsync(100 + 20);
      await lookups.reached(2);
      await end(1);
      expect(runs).toEqual([]);
      await end(2);

      expect((await answer).text).toBe(path);
      expect(runs).toEqual([path]);
      expect(vi.getTimerCount()).toBe(0);
    },
  );

  it('that gives up by itself is the end of the attempt: the handler does not run', async () => {
    const app = await startInner();
    freezeTime();
    expect((await ask(app, '/inner/limiting-alone')).status).toBe(500);
    await end(1);

    expect(runs).toEqual([]);
  });

  it('that repeats by itself brings no handler to run after the attempt was given up', async () => {
    const app = await startInner();
    freezeTime();
    const answer = app.call('/inner/again');
    await lookups.reached(1);
    await end(1);
    await lookups.reached(2);
    expect(runs).toEqual(['again']);
    await vi.advanceTimersByTimeAsync(100);
    expect((await answer).status).toBe(504);
    await end(2);

    expect(runs).toEqual(['again']);
  });

  it('that detaches the handler lets it run: it is to outlive its request', async () => {
    const app = await startInner();
    freezeTime();
    expect((await ask(app, '/inner/detaching')).status).toBe(504);
    await end(1);

    expect(runs).toEqual(['detaching']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('that has answered lets the handler run on its way: nothing was given up', async () => {
    const app = await startInner();
    freezeTime();
    const answer = app.call('/inner/revalidating');
    await lookups.reached(1);
    expect((await answer).text).toBe('cached');
    await end(1);

    expect(runs).toEqual(['revalidating']);
    expect(signals.map((signal) => signal?.aborted)).toEqual([false]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

/** As a pipe that stands on a class or an application does, it looks at every parameter. */
const lookAtAll: PipeTransform = {
  async transform(value: unknown) {
    await lookups.call();
    return value;
  },
};

@Controller('signals')
class SignalsController {
  @Get()
  @Timeout(100)
  @Retry(RETRY)
  @UsePipes(lookAtAll)
  repeated(@Signal() signal: AbortSignal) {
    signals.push(signal);
  }
}

onBothAdapters('The signal of a handler', (start) => {
  it('is that of its own attempt, although a pipe of an earlier one ends after that of its own', async () => {
    const app = await start({ controllers: [SignalsController] });
    freezeTime();
    const answer = app.call('/signals');
    await lookups.reached(1);
    await vi.advanceTimersByTimeAsync(100 + 20);
    await lookups.reached(2);
    // In one tick: the second one has gone through its pipes, and its handler has not been called, when the first one ends.
    lookups.calls[1]?.answer('found');
    lookups.calls[0]?.answer('found');

    expect((await answer).status).toBe(200);
    expect(signals.map((signal) => signal?.aborted)).toEqual([false]);
  });
});
