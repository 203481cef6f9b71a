import { applyDecorators, Controller, Get } from '@nestjs/common';
import {
  Bulkhead,
  CircuitBreaker,
  Fallback,
  ResilienceService,
  Retry,
  Signal,
  Timeout,
  type ResilienceEvent,
} from '@nestjs/resilience';
import { beforeEach, expect, it } from 'vitest';
import { onBothAdapters } from './fixtures/application.js';
import { Backend } from './fixtures/backend.js';

let backend: Backend;
const down = new Error('down');

beforeEach(() => {
  backend = new Backend();
  backend.script((call) => call.fail(down));
});

const AT_ONCE = { attempts: 2, backoff: { delay: 0 } } as const;

@Retry(AT_ONCE)
@CircuitBreaker({ minimumCalls: 2, openDuration: '1m' })
@Timeout('1m')
abstract class BaseController {
  @Get('list')
  list(@Signal() signal?: AbortSignal) {
    return backend.call(signal);
  }

  @Get('find')
  @Retry(3)
  @Fallback('empty')
  find() {
    return backend.call();
  }

  empty(): unknown {
    return `${this.constructor.name} has nothing`;
  }
}

@Controller('first')
class FirstController extends BaseController {}

@Controller('second')
class SecondController extends BaseController {
  @Get('own')
  own() {
    return backend.call();
  }

  override empty(): unknown {
    return 'overridden';
  }
}

@Controller('third')
@Retry({ attempts: 4, backoff: { delay: 0 } })
@CircuitBreaker({ minimumCalls: 20 })
class ThirdController extends BaseController {
  @Get('list')
  override list() {
    return backend.call();
  }
}

onBothAdapters('Decorators on a base class', (start) => {
  const startAll = () => start({ controllers: [FirstController, SecondController, ThirdController] });

  it('apply to inherited handlers, with a breaker and a source for each subclass', async () => {
    const { call, resilience, events } = await startAll();

    expect((await call('/first/list')).status).toBe(500);

    expect(backend.calls).toHaveLength(2);
    expect(backend.calls[0]?.signal).toBeInstanceOf(AbortSignal);
    expect(resilience.circuitBreaker('FirstController.list').state).toBe('open');
    expect(resilience.circuitBreaker('SecondController.list').state).toBe('closed');
    expect(new Set(events.map((event) => (event as { source?: string }).source))).toEqual(
      new Set(['FirstController.list']),
    );
    expect((await call('/second/list')).status).toBe(500);
    expect(backend.calls).toHaveLength(4);
  });

  it('apply to handlers that the subclass adds', async () => {
    const { call, resilience } = await startAll();

    await call('/second/own');

    expect(backend.calls).toHaveLength(2);
    expect(resilience.circuitBreaker('SecondController.own').state).toBe('open');
  });

  it('call the method of the subclass for a fallback', async () => {
    const { call } = await startAll();

    expect((await call('/first/find')).text).toBe('FirstController has nothing');
    expect((await call('/second/find')).text).toBe('overridden');
  });

  it('give way to those on the subclass', async () => {
    const { call, resilience } = await startAll();

    await call('/third/list');

    expect(backend.calls).toHaveLength(4);
    expect(resilience.circuitBreaker('ThirdController.list').stats.total).toBe(4);
  });
});

class Legacy {
  list() {
    return backend.call();
  }
}

@Controller('legacy')
class LegacyController extends Legacy {
  @Get()
  override list() {
    return super.list();
  }
}

// Decorators are plain metadata: they can also be applied from outside, to a class that somebody else wrote.
const listed = Object.getOwnPropertyDescriptor(LegacyController.prototype, 'list')!;
const decorated = Retry(AT_ONCE)(LegacyController.prototype, 'list', listed);
if (decorated !== undefined) Object.defineProperty(LegacyController.prototype, 'list', decorated);
Timeout('1m')(LegacyController);

const Guarded = (attempts: number) =>
  applyDecorators(
    Retry({ attempts, backoff: { delay: 0 } }),
    Bulkhead({ name: 'guarded', maxConcurrent: 5 }),
    Timeout('1m'),
  );

/** A decorator of somebody else that puts another function in the place of the method, and keeps its metadata. */
function Traced(): MethodDecorator {
  return (_target, _key, descriptor) => {
    const original = descriptor.value as unknown as (...parameters: unknown[]) => unknown;
    function traced(this: unknown, ...parameters: unknown[]): unknown {
      return original.apply(this, parameters);
    }
    for (const key of Reflect.getMetadataKeys(original) as unknown[]) {
      Reflect.defineMetadata(key, Reflect.getMetadata(key, original), traced);
    }
    return { ...descriptor, value: traced as never };
  };
}

@Controller('composed')
class ComposedController {
  @Get('composed')
  @Guarded(3)
  composed() {
    return backend.call();
  }

  @Traced()
  @Get('traced')
  @Retry(AT_ONCE)
  traced() {
    return backend.call();
  }

  @Retry(AT_ONCE)
  @Traced()
  @Get('around')
  around() {
    return backend.call();
  }

  @Retry(AT_ONCE)
  @Get('above')
  above() {
    return backend.call();
  }
}

onBothAdapters('Decorators by other ways', (start) => {
  it.each([
    ['/legacy', 2, 'LegacyController.list'],
    ['/composed/composed', 3, 'ComposedController.composed'],
    ['/composed/traced', 2, 'ComposedController.traced'],
    ['/composed/around', 2, 'ComposedController.around'],
    ['/composed/above', 2, 'ComposedController.above'],
  ])('apply as well: %s makes %i attempts', async (path, attempts, source) => {
    const { call, events } = await start({ controllers: [LegacyController, ComposedController] });

    await call(path);

    expect(backend.calls).toHaveLength(attempts);
    expect((events[0] as ResilienceEvent & { source: string }).source).toBe(source);
  });

  it('leave what other code reads of a method: name, parameters and metadata', async () => {
    const { app } = await start({ controllers: [ComposedController] });

    expect(app.get(ResilienceService).bulkhead('guarded').maxConcurrent).toBe(5);
    expect(ComposedController.prototype.composed.name).toBe('composed');
    expect(BaseController.prototype.list).toHaveLength(1);
    expect(Reflect.getMetadata('path', ComposedController.prototype.above)).toBe('above');
  });
});
