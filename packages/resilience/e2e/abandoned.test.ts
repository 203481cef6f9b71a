import { Controller, Get } from '@nestjs/common';
import { Bulkhead, Retry, Signal, Timeout } from '@nestjs/resilience';
import { beforeEach, expect, it, vi } from 'vitest';
import { freezeTime, onBothAdapters, type Application } from './fixtures/application.js';
import { Backend, turns } from './fixtures/backend.js';

let backend: Backend;

beforeEach(() => {
  backend = new Backend();
});

@Controller()
class DeafController {
  @Get('deaf')
  @Timeout(100)
  @Bulkhead({ name: 'pool', maxConcurrent: 1 })
  deaf() {
    return backend.call();
  }

  @Get('async')
  @Bulkhead('pool')
  @Timeout(100)
  async async() {
    await backend.call();
    return 'done';
  }

  @Get('hears')
  @Timeout(100)
  @Bulkhead('pool')
  hears(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @Get('held')
  @Timeout(100)
  @Bulkhead({ name: 'held', maxConcurrent: 1, holdUntilSettled: true })
  held() {
    return backend.call();
  }

  @Get('retried')
  @Timeout(100)
  @Retry({ attempts: 3, backoff: { delay: 20, jitter: 'none', factor: 1 } })
  @Bulkhead({ name: 'retried', maxConcurrent: 1 })
  retried() {
    return backend.call();
  }

  @Get('lazy')
  @Timeout(100)
  @Bulkhead('pool')
  lazy() {
    return new Query();
  }
}

/** A query that runs when it is awaited, and once more for each further time. */
class Query {
  static runs = 0;

  // oxlint-disable-next-line unicorn/no-thenable
  then(resolve: (value: unknown) => void): void {
    Query.runs += 1;
    resolve('rows');
  }
}

abstract class BaseController {
  @Get()
  list() {
    return backend.call();
  }
}

@Controller('decorated-subclass')
@Timeout(100)
@Bulkhead({ maxConcurrent: 1 })
class DecoratedSubclassController extends BaseController {}

@Timeout(100)
@Bulkhead({ maxConcurrent: 1 })
abstract class DecoratedBaseController {
  @Get()
  list() {
    return backend.call();
  }
}

@Controller('decorated-base')
class SubclassController extends DecoratedBaseController {
  @Get('own')
  own() {
    return backend.call();
  }
}

@Timeout(100)
@Bulkhead({ maxConcurrent: 1, holdUntilSettled: true })
abstract class HoldingBaseController {}

@Controller('holding-base')
class HoldingSubclassController extends HoldingBaseController {
  @Get()
  own() {
    return backend.call();
  }
}

onBothAdapters('A handler that runs on after its limit', (start) => {
  const startDeaf = async () => {
    const app = await start({
      controllers: [DeafController, DecoratedSubclassController, SubclassController, HoldingSubclassController],
    });
    freezeTime();

    return app;
  };
  const giveUp = async (app: Application, path: string, nth: number) => {
    const answer = app.call(path);
    await backend.reached(nth);
    await vi.advanceTimersByTimeAsync(100);
    expect((await answer).status).toBe(504);
  };

  it.each(['/deaf', '/async'])('gives its slot back and is counted until it has ended: %s', async (path) => {
    const app = await startDeaf();
    const pool = app.resilience.bulkhead('pool');

    await giveUp(app, path, 1);
    expect(pool).toMatchObject({ active: 0, abandoned: 1 });
    await giveUp(app, path, 2);
    expect(pool).toMatchObject({ active: 0, abandoned: 2 });
    const source = `DeafController.${path.slice(1)}`;
    expect(app.events.filter(({ type }) => type === 'abandoned')).toEqual([
      { type: 'abandoned', policy: 'pool', source, abandoned: 1 },
      { type: 'abandoned', policy: 'pool', source, abandoned: 2 },
    ]);

    backend.calls[0]?.answer('late');
    await turns();
    expect(pool.abandoned).toBe(1);
    backend.calls[1]?.fail(new Error('late'));
    await turns();
    expect(pool.abandoned).toBe(0);
  });

  it('is not counted when it heeds its signal', async () => {
    const app = await startDeaf();

    await giveUp(app, '/hears', 1);
    await turns();

    expect(app.resilience.bulkhead('pool')).toMatchObject({ active: 0, abandoned: 0 });
  });

  it('keeps its slot with holdUntilSettled, and is then not abandoned', async () => {
    const app = await startDeaf();
    const held = app.resilience.bulkhead('held');

    await giveUp(app, '/held', 1);
    expect(held).toMatchObject({ active: 1, abandoned: 0 });
    expect((await app.call('/held')).status).toBe(503);

    backend.calls[0]?.answer('late');
    await turns();
    expect(held.active).toBe(0);
    expect(app.events.map(({ type }) => type)).toEqual(['timeout', 'bulkhead-rejected']);
  });

  it('is counted once for each attempt that was given up', async () => {
    const app = await startDeaf();
    const answer = app.call('/retried');
    for (let nth = 1; nth <= 3; nth++) {
      await backend.reached(nth);
      await vi.advanceTimersByTimeAsync(100);
      await vi.advanceTimersByTimeAsync(20);
    }
    expect((await answer).status).toBe(504);
    expect(app.resilience.bulkhead('retried').abandoned).toBe(3);

    for (const call of backend.calls) call.answer('late');
    await turns();
    expect(app.resilience.bulkhead('retried').abandoned).toBe(0);
  });

  it.each([
    ['/decorated-subclass', 'DecoratedSubclassController.list'],
    ['/decorated-base', 'SubclassController.list'],
    ['/decorated-base/own', 'SubclassController.own'],
  ])(
    'is counted when a class is decorated, and the handler is its own, inherited or of a subclass: %s',
    async (path, name) => {
      const app = await startDeaf();

      await giveUp(app, path, 1);
      expect(app.resilience.bulkhead(name)).toMatchObject({ active: 0, abandoned: 1 });

      backend.calls[0]?.answer('late');
      await turns();
      expect(app.resilience.bulkhead(name).abandoned).toBe(0);
    },
  );

  it('keeps its slot with holdUntilSettled on a base class although the handler is of a subclass', async () => {
    const app = await startDeaf();

    await giveUp(app, '/holding-base', 1);
    expect(app.resilience.bulkhead('HoldingSubclassController.own')).toMatchObject({ active: 1, abandoned: 0 });

    backend.calls[0]?.answer('late');
    await turns();
    expect(app.resilience.bulkhead('HoldingSubclassController.own').active).toBe(0);
  });

  it('may return something that runs whenever it is awaited: it runs once', async () => {
    Query.runs = 0;
    const app = await startDeaf();

    expect((await app.call('/lazy')).text).toBe('rows');
    expect(Query.runs).toBe(1);
  });
});
