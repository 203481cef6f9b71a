import { Controller, Get, HttpException, Injectable, Post, Res, type ExecutionContext } from '@nestjs/common';
import { Bulkhead, CircuitBreaker, CircuitOpenError, Fallback, Resilience, Retry, Timeout } from '@nestjs/resilience';
import { of } from 'rxjs';
import { beforeEach, expect, it, vi } from 'vitest';
import { freezeTime, onBothAdapters } from './fixtures/application.js';
import { Backend, DependencyError, isPending } from './fixtures/backend.js';

let backend: Backend;
let handled: unknown[][] = [];
const down = new Error('down');

beforeEach(() => {
  handled = [];
  backend = new Backend();
  backend.script((call) => call.fail(down));
});

@Injectable()
class Rates {
  readonly flat = 'flat';
}

@Controller('ways')
class WaysController {
  constructor(private readonly rates: Rates) {}

  @Get('method')
  @Fallback('stale')
  method() {
    return backend.call();
  }

  stale(...given: unknown[]) {
    handled.push(given);
    return { from: this.rates.flat };
  }

  @Get('function')
  @Fallback((error: unknown, context: ExecutionContext) => {
    handled.push([error, context]);
    return 'stale';
  })
  function() {
    return backend.call();
  }

  @Get('promise')
  @Fallback(() => Promise.resolve('stale'))
  promise() {
    return backend.call();
  }

  @Get('observable')
  @Fallback(() => of('not yet', 'stale'))
  observable() {
    return backend.call();
  }

  @Get('nothing')
  @Fallback(() => undefined)
  nothing() {
    return backend.call();
  }

  @Get('preset')
  @Resilience('stale')
  preset() {
    return backend.call();
  }

  @Post('posted')
  @Fallback(() => 'stale')
  posted() {
    return backend.call();
  }

  @Get('broken')
  @Fallback(() => Promise.reject(new HttpException('fallback broke', 502)))
  broken() {
    return backend.call();
  }

  @Get('refused')
  @Fallback(() => {
    throw new CircuitOpenError('second', 7_000);
  })
  refused() {
    return backend.call();
  }

  @Get('slow')
  @Timeout(100)
  @Fallback(() => backend.call())
  @Bulkhead({ name: 'slow', maxConcurrent: 1 })
  slow() {
    return backend.call();
  }
}

@Controller('class')
@Fallback('ofClass', { handleIf: (error) => error === down })
class ClassController {
  @Get('inherited')
  inherited() {
    return backend.call();
  }

  @Get('replaced')
  @Fallback(() => 'of the handler')
  replaced() {
    return backend.call();
  }

  @Get('own')
  @Fallback(() => 'of the handler', { handleIf: () => true })
  own() {
    return backend.call();
  }

  ofClass() {
    return 'of the class';
  }
}

@Controller('responses')
class ResponsesController {
  @Get('manual')
  @Fallback(() => 'stale')
  async manual(@Res() response: { send(body: unknown): void }) {
    response.send(await backend.call());
  }

  @Get('passthrough')
  @Fallback(() => 'stale')
  passthrough(@Res({ passthrough: true }) response: { header(name: string, value: string): void }) {
    response.header('x-kept', 'yes');
    return backend.call();
  }
}

onBothAdapters('A fallback', (start) => {
  const startWays = () =>
    start({
      controllers: [WaysController, ClassController, ResponsesController],
      providers: [Rates],
      options: {
        presets: {
          stale: {
            fallback: (...given: unknown[]) => {
              handled.push(given);
              return 'stale';
            },
          },
        },
      },
    });

  it('that names a method calls it on the instance, with the error and the context of the call', async () => {
    const { call } = await startWays();

    expect((await call('/ways/method')).body).toEqual({ from: 'flat' });

    const [error, context, ...more] = handled[0] as [unknown, ExecutionContext, ...unknown[]];
    expect(error).toBe(down);
    expect(context.getClass()).toBe(WaysController);
    expect(context.getHandler().name).toBe('method');
    expect(context.switchToHttp().getRequest<{ url: string }>().url).toBe('/ways/method');
    expect(more).toEqual([]);
  });

  it.each(['function', 'promise', 'observable'])('may be a function that answers with a value, %s', async (path) => {
    const { call } = await startWays();

    expect(await call(`/ways/${path}`)).toMatchObject({ status: 200, text: 'stale' });
  });

  it('that is a function gets the error and the context', async () => {
    const { call } = await startWays();

    await call('/ways/function');

    const [error, context] = handled[0] as [unknown, ExecutionContext];
    expect(error).toBe(down);
    expect(context.getHandler().name).toBe('function');
  });

  it('of a preset gets the error, the attempt and the context', async () => {
    const { call } = await startWays();

    expect((await call('/ways/preset')).text).toBe('stale');

    const [error, attempt, context] = handled[0] as [unknown, { attempt: number }, ExecutionContext];
    expect(error).toBe(down);
    expect(attempt.attempt).toBe(1);
    expect(context.getClass()).toBe(WaysController);
  });

  it('keeps the status of the route', async () => {
    const { call } = await startWays();

    expect(await call('/ways/posted', { method: 'POST' })).toMatchObject({ status: 201, text: 'stale' });
    expect(await call('/ways/nothing')).toMatchObject({ status: 200, text: '' });
  });

  it('that fails answers with its own error, mapped if it is one of a policy', async () => {
    const { call, events } = await startWays();

    expect(await call('/ways/broken')).toMatchObject({ status: 502, body: { message: 'fallback broke' } });
    const refused = await call('/ways/refused');
    expect(refused).toMatchObject({ status: 503, body: { code: 'CIRCUIT_OPEN' } });
    expect(refused.headers['retry-after']).toBe('7');
    expect(events.map(({ type }) => type)).toEqual(['fallback', 'fallback']);
  });

  it.each([
    ['a 404', new HttpException('no', 404), 404],
    ['a 422 of a dependency', new DependencyError(422), 500],
  ])('does not stand in for what blames the request: %s', async (_, error, status) => {
    backend.script((call) => call.fail(error));
    const { call, events } = await startWays();

    expect((await call('/ways/function')).status).toBe(status);
    expect(handled).toEqual([]);
    expect(events).toEqual([]);
  });

  it('runs outside of the other stages: it may take longer than the limit, and holds no slot', async () => {
    backend.script(() => {});
    const { call, resilience } = await startWays();
    freezeTime();
    const answer = call('/ways/slow');
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(100);
    const fallback = await backend.reached(2);

    await vi.advanceTimersByTimeAsync(60_000);
    expect(await isPending(answer)).toBe(true);
    expect(resilience.bulkhead('slow')).toMatchObject({ active: 0, abandoned: 1 });
    fallback.answer('stale at last');

    expect((await answer).text).toBe('stale at last');
  });

  it('of the class answers for its handlers; one on the handler replaces it, and inherits its condition', async () => {
    const { call } = await startWays();
    expect((await call('/class/inherited')).text).toBe('of the class');
    expect((await call('/class/replaced')).text).toBe('of the handler');
    expect((await call('/class/own')).text).toBe('of the handler');

    backend.script((running) => running.fail(new Error('another')));
    expect((await call('/class/inherited')).status).toBe(500);
    expect((await call('/class/replaced')).status).toBe(500);
    expect((await call('/class/own')).text).toBe('of the handler');
  });

  it('is left out, with a warning, where the handler writes the response itself', async () => {
    const { call, log } = await startWays();

    expect((await call('/responses/manual')).status).toBe(500);
    expect(log.warnings.filter((warning) => warning.includes('ResponsesController'))).toEqual([
      expect.stringContaining('ResponsesController.manual()'),
    ]);
  });

  it('works where the handler only touches the response', async () => {
    const { call } = await startWays();

    const answer = await call('/responses/passthrough');

    expect(answer).toMatchObject({ status: 200, text: 'stale' });
    expect(answer.headers['x-kept']).toBe('yes');
  });
});

@Controller('stages')
class StagesController {
  @Get()
  @Fallback((error) => ({ instead: (error as Error).name }))
  @Retry({ attempts: 2, backoff: { delay: 0 } })
  @CircuitBreaker({ name: 'stages' })
  @Timeout('1m')
  @Bulkhead({ name: 'stages', maxConcurrent: 1 })
  get() {
    return backend.call();
  }
}

onBothAdapters('A fallback for refusals', (start) => {
  it('sees those of breakers and bulkheads, once per request', async () => {
    const { call, resilience, events } = await start({ controllers: [StagesController] });
    resilience.circuitBreaker('stages').trip();
    expect((await call('/stages')).body).toEqual({ instead: 'CircuitOpenError' });
    resilience.circuitBreaker('stages').reset();

    backend.script(() => {});
    const running = call('/stages');
    const inside = await backend.reached(1);
    expect((await call('/stages')).body).toEqual({ instead: 'BulkheadFullError' });
    inside.answer('fine');
    expect((await running).text).toBe('fine');

    expect(events.filter(({ type }) => type === 'fallback')).toHaveLength(2);
  });
});
