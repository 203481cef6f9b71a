import { Controller, Get, Header } from '@nestjs/common';
import { Bulkhead, Resilience, Retry, Signal, Timeout } from '@nestjs/resilience';
import { beforeEach, expect, it, vi } from 'vitest';
import { freezeTime, onBothAdapters, type Application } from './fixtures/application.js';
import { Backend, isPending, turns, until } from './fixtures/backend.js';
import type { Answer } from './fixtures/client.js';

let backend: Backend;

beforeEach(() => {
  backend = new Backend();
});

@Controller('orders')
class OrdersController {
  @Get('export')
  @Header('Content-Type', 'text/csv')
  @Bulkhead({ maxConcurrent: 2, maxQueue: 3, queueTimeout: '10s' })
  export() {
    return backend.call();
  }

  @Get('limited')
  @Timeout(100)
  @Bulkhead({ maxConcurrent: 1, maxQueue: 1 })
  limited(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @Get('retried')
  @Retry({ attempts: 2, backoff: { delay: 50, jitter: 'none' } })
  @Bulkhead({ maxConcurrent: 1 })
  retried() {
    return backend.call();
  }
}

@Controller('each')
@Bulkhead({ maxConcurrent: 1 })
class EachController {
  @Get('one')
  one() {
    return backend.call();
  }

  @Get('two')
  two() {
    return backend.call();
  }
}

@Controller('shared')
class SharedController {
  @Get('one')
  @Bulkhead({ name: 'database', maxConcurrent: 1 })
  one() {
    return backend.call();
  }

  @Get('two')
  @Bulkhead('database')
  two() {
    return backend.call();
  }

  @Get('three')
  @Resilience('reports')
  three() {
    return backend.call();
  }
}

onBothAdapters('A bulkhead', (start) => {
  const startOrders = () =>
    start({
      controllers: [OrdersController, EachController, SharedController],
      options: { presets: { reports: { bulkhead: 'database' } } },
    });

  /** Sends requests one after the other, so that their order is known. */
  const inOrder = async (app: Application, count: number): Promise<Promise<Answer>[]> => {
    const bulkhead = app.resilience.bulkhead('OrdersController.export');
    const answers: Promise<Answer>[] = [];
    for (let n = 0; n < count; n++) {
      const before = bulkhead.active + bulkhead.queued;
      answers.push(app.call('/orders/export'));
      if (before < 5) while (bulkhead.active + bulkhead.queued === before) await turns(1);
    }

    return answers;
  };

  it('runs two exports at a time, lets three wait, and refuses the sixth at once', async () => {
    const app = await startOrders();
    const answers = await inOrder(app, 6);

    const sixth = await answers[5]!;
    expect(sixth.status).toBe(503);
    expect(sixth.body).toEqual({
      statusCode: 503,
      error: 'Service Unavailable',
      message: 'Server is at capacity',
      code: 'BULKHEAD_FULL',
    });
    expect(sixth.headers).not.toHaveProperty('retry-after');
    expect(backend.calls).toHaveLength(2);
    expect(app.resilience.bulkhead('OrdersController.export')).toMatchObject({ active: 2, queued: 3 });
    expect(app.events).toEqual([
      {
        type: 'bulkhead-rejected',
        policy: 'OrdersController.export',
        source: 'OrdersController.export',
        reason: 'full',
        active: 2,
        queued: 3,
      },
    ]);

    for (let n = 1; n <= 5; n++) (await backend.reached(n)).answer(`export ${n}`);
    const served = await Promise.all(answers.slice(0, 5));
    expect(served.map(({ text }) => text)).toEqual([1, 2, 3, 4, 5].map((n) => `export ${n}`));
    expect(served[0]?.headers['content-type']).toMatch(/^text\/csv/);
    expect(app.resilience.bulkhead('OrdersController.export')).toMatchObject({ active: 0, queued: 0 });
  });

  it('refuses those that have waited for ten seconds, and not a millisecond earlier', async () => {
    const app = await startOrders();
    freezeTime();
    const [running, other, waiting] = await inOrder(app, 3);

    await vi.advanceTimersByTimeAsync(9_999);
    expect(await isPending(waiting!)).toBe(true);
    await vi.advanceTimersByTimeAsync(1);

    expect(await waiting).toMatchObject({ status: 503, body: { code: 'BULKHEAD_FULL' } });
    expect(app.events).toMatchObject([{ type: 'bulkhead-rejected', reason: 'queue-timeout', active: 2, queued: 0 }]);
    for (const call of backend.calls) call.answer('done');
    expect([(await running)?.status, (await other)?.status]).toEqual([200, 200]);
  });

  it('counts the time in its queue against the limit of the route; who waited in vain leaves the queue', async () => {
    const app = await startOrders();
    const bulkhead = app.resilience.bulkhead('OrdersController.limited');
    freezeTime();
    const running = app.call('/orders/limited');
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(50);
    const waiting = app.call('/orders/limited');
    await until(() => bulkhead.queued === 1);

    await vi.advanceTimersByTimeAsync(50);
    expect((await running).status).toBe(504);
    const second = await backend.reached(2);
    expect(bulkhead).toMatchObject({ active: 1, queued: 0 });
    await vi.advanceTimersByTimeAsync(50);

    expect((await waiting).status).toBe(504);
    expect(second.state).toBe('cancelled');
    expect(bulkhead).toMatchObject({ active: 0, queued: 0, abandoned: 0 });
  });

  it('holds no slot between two attempts', async () => {
    backend.script((call, nth) => (nth === 1 ? call.fail(new Error('down')) : call.answer(`call ${nth}`)));
    const app = await startOrders();
    freezeTime();
    const first = app.call('/orders/retried');
    await backend.reached(1);
    await turns();

    expect((await app.call('/orders/retried')).text).toBe('call 2');
    await vi.advanceTimersByTimeAsync(50);
    expect((await first).text).toBe('call 3');
  });

  it('on a class gives each of its handlers slots of its own', async () => {
    const app = await startOrders();
    const one = app.call('/each/one');
    await backend.reached(1);
    const two = app.call('/each/two');
    await backend.reached(2);

    expect((await app.call('/each/one')).status).toBe(503);
    expect(app.resilience.bulkheads().map(({ name }) => name)).toEqual(
      expect.arrayContaining(['EachController.one', 'EachController.two']),
    );
    for (const call of backend.calls) call.answer('done');
    expect([(await one).status, (await two).status]).toEqual([200, 200]);
  });

  it('with a name is shared by all that use it: decorators, strings and presets', async () => {
    const app = await startOrders();
    const one = app.call('/shared/one');
    const running = await backend.reached(1);

    for (const path of ['one', 'two', 'three']) expect((await app.call(`/shared/${path}`)).status).toBe(503);
    expect(app.resilience.bulkhead('database').active).toBe(1);
    expect(app.events.map((event) => [event.policy, 'source' in event && event.source])).toEqual([
      ['database', 'SharedController.one'],
      ['database', 'SharedController.two'],
      ['database', 'SharedController.three'],
    ]);

    running.answer('done');
    expect((await one).status).toBe(200);
  });
});
