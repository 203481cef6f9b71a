import { applyDecorators, Controller, Get, type ExecutionContext } from '@nestjs/common';
import { TimeoutPolicy } from 'holdfast';
import { Attempt } from 'holdfast/binding';
import { describe, expect, it, vi } from 'vitest';
import { readDeclarations } from './entrypoint/metadata.js';
import { Budget, Bulkhead, CircuitBreaker, Fallback, Resilience, Retry, Timeout } from './resilience.decorators.js';

describe('the decorators', () => {
  it('write down what they were given, on methods and on classes', () => {
    const retry = Object.freeze({ attempts: 2 });
    const flat = () => [];

    @Budget()
    @Timeout()
    @Bulkhead('pool')
    class Shop {
      @Budget('3s')
      @Retry(retry)
      @Timeout('1s')
      @CircuitBreaker({ minimumCalls: 5 })
      @Bulkhead()
      @Fallback(flat)
      @Resilience('carrier')
      list(): void {}
    }

    expect(readDeclarations(Shop.prototype.list)).toEqual({
      stages: {
        budget: { value: '3s' },
        retry: { value: retry },
        timeout: { value: '1s' },
        circuitBreaker: { value: { minimumCalls: 5 } },
        bulkhead: { value: {} },
        fallback: { value: { handler: flat } },
      },
      preset: { value: 'carrier' },
    });
    expect(readDeclarations(Shop)).toEqual({
      stages: { budget: { value: undefined }, timeout: { value: undefined }, bulkhead: { value: 'pool' } },
      preset: undefined,
    });
  });

  it('leave what they do not stand on alone', () => {
    class Shop {
      @Retry()
      list(): void {}

      other(): void {}
    }

    expect(readDeclarations(Shop)).toBeUndefined();
    expect(readDeclarations(Shop.prototype.other)).toBeUndefined();
  });

  it('are inherited by classes, stage by stage', () => {
    @Retry(3)
    @Timeout('1s')
    abstract class Base {}

    @Timeout('2s')
    class Shop extends Base {}

    expect(readDeclarations(Shop)?.stages).toEqual({ retry: { value: 3 }, timeout: { value: '2s' } });
    expect(readDeclarations(Base)?.stages).toEqual({ retry: { value: 3 }, timeout: { value: '1s' } });
  });

  it('are inherited with a method, and not by one that overrides it', () => {
    class Base {
      @Retry(3)
      kept(): void {}

      @Retry(3)
      overridden(): void {}
    }

    class Shop extends Base {
      override overridden(): void {}
    }

    expect(readDeclarations(Shop.prototype.kept)?.stages).toEqual({ retry: { value: 3 } });
    expect(readDeclarations(Shop.prototype.overridden)).toBeUndefined();
  });

  it('can be applied from outside', () => {
    class Shop {
      list(): void {}
    }
    const descriptor = Object.getOwnPropertyDescriptor(Shop.prototype, 'list') as PropertyDescriptor;
    Retry(3)(Shop.prototype, 'list', descriptor);
    Get('list')(Shop.prototype, 'list', descriptor);
    Bulkhead('pool')(Shop.prototype, 'list', descriptor);
    Timeout('1s')(Shop);

    expect(readDeclarations(Shop.prototype.list)?.stages).toEqual({ retry: { value: 3 }, bulkhead: { value: 'pool' } });
    expect(Reflect.getMetadata('path', Shop.prototype.list)).toBe('list');
    expect(readDeclarations(Shop)?.stages).toEqual({ timeout: { value: '1s' } });
  });

  it('can be composed into one', () => {
    const Careful = () =>
      applyDecorators(
        Resilience('carrier'),
        Retry({ idempotent: true }),
        Fallback(() => []),
      );

    @Controller()
    class Shop {
      @Get()
      @Careful()
      list(): void {}
    }

    expect(Object.keys(readDeclarations(Shop.prototype.list)?.stages ?? {})).toEqual(['retry', 'fallback']);
  });

  it('let a bulkhead know when an abandoned handler ends, composed or not', async () => {
    const Careful = () => applyDecorators(Retry(1), Bulkhead());

    class Shop {
      @Careful()
      composed(): Promise<void> {
        return new Promise((resolve) => setTimeout(resolve, 20));
      }

      @Bulkhead()
      plain(): Promise<void> {
        return new Promise((resolve) => setTimeout(resolve, 20));
      }
    }

    for (const name of ['composed', 'plain'] as const) {
      const watch = vi.spyOn(Attempt.prototype, 'watch');
      const done = new TimeoutPolicy(1_000).execute(() => new Shop()[name]());

      expect(watch).toHaveBeenCalledOnce();
      await done;
      watch.mockRestore();
    }
  });

  it('do not write to the options that they are given', () => {
    const options = Object.freeze({ handleIf: () => true });

    class Shop {
      @Fallback('flat', options)
      list(): void {}

      flat(): void {}
    }

    expect(readDeclarations(Shop.prototype.list)?.stages).toEqual({
      fallback: { value: { handler: 'flat', handleIf: options.handleIf } },
    });
  });

  it.each([
    ['a property', undefined],
    ['a getter', { get: () => 5, configurable: true }],
    ['a value', { value: 5 }],
  ])('refuse to stand on %s', (_case, descriptor) => {
    class Shop {}
    const decorate = () => Retry()(Shop.prototype, 'total', descriptor as PropertyDescriptor);

    expect(decorate).toThrow('A resilience decorator (retry) stands on "total" of Shop, which is not a method.');
  });

  it('refuse to stand on a static method, which Nest never calls', () => {
    class Shop {
      static list(): void {}
    }
    const decorate = () => Retry()(Shop, 'list', Object.getOwnPropertyDescriptor(Shop, 'list') as PropertyDescriptor);

    expect(decorate).toThrow('A resilience decorator (retry) stands on the static method "list" of Shop.');
  });

  it.each([
    ['a method', function list(): void {}],
    ['a field', undefined],
  ])('say so when the compiler calls them as standard decorators: %s', (_case, target) => {
    const decorate = Retry() as unknown as (target: unknown, context: object) => void;

    expect(() => decorate(target, { kind: 'method', name: 'list' })).toThrow(
      'Resilience decorators, like those of Nest, need "experimentalDecorators": true in the compiler\'s options.',
    );
  });

  it('leave properties that other decorators have put on a method', () => {
    const mark = Symbol('mark');
    const Marked: MethodDecorator = (_target, _key, descriptor) => {
      Object.assign(descriptor.value as object, { roles: ['admin'], [mark]: 1 });
    };
    class Shop {
      @Retry()
      @Marked
      list(): void {}
    }

    expect(Shop.prototype.list).toHaveProperty('roles', ['admin']);
    expect((Shop.prototype.list as unknown as Record<symbol, unknown>)[mark]).toBe(1);
  });
});

describe('the types of @Fallback()', () => {
  it('let the name of a public method compile, own or inherited, on handlers and classes', () => {
    abstract class Base {
      inherited(): string {
        return 'inherited';
      }
    }

    @Fallback('own')
    class Shop extends Base {
      @Fallback('own')
      one(): void {}

      @Fallback('inherited', { handleIf: (error) => error instanceof TypeError })
      two(): void {}

      @Fallback('withParameters')
      three(): void {}

      @Fallback('later')
      protected four(): void {}

      own(): string[] {
        return [];
      }

      withParameters(error: Error, context: ExecutionContext): string {
        return `${error.message} ${context.getType()}`;
      }

      async later(): Promise<void> {}
    }

    @Fallback('inherited')
    abstract class Abstract extends Base {}

    @Fallback('generic')
    class Generic<T> {
      generic(value: T): T {
        return value;
      }
    }

    expect([Shop, Abstract, Generic]).toHaveLength(3);
    expect(Shop.prototype).toHaveProperty('four');
  });

  it('let functions compile', () => {
    class Shop {
      @Fallback(() => [])
      one(): void {}

      @Fallback((error: unknown, context: ExecutionContext) => [error, context.getClass().name])
      two(): void {}
    }

    expect(Shop).toBeDefined();
  });

  it('refuse anything else', () => {
    class Base {
      protected hidden(): void {}
    }

    // @ts-expect-error - there is no such method
    @Fallback('missing')
    class Shop extends Base {
      readonly total = 5;

      // @ts-expect-error - there is no such method
      @Fallback('flta')
      one(): void {}

      // @ts-expect-error - the method is private
      @Fallback('secret')
      two(): void {}

      // @ts-expect-error - the method is protected
      @Fallback('hidden')
      three(): void {}

      // @ts-expect-error - a number is not a method
      @Fallback('total')
      four(): void {}

      // @ts-expect-error - handlers of decorators are told the context, not the attempt
      @Fallback((_error: unknown, { attempt }: { attempt: number }) => attempt)
      five(): void {}

      // @ts-expect-error - a name that is not known when this is compiled
      @Fallback('fla' + 't')
      six(): void {}

      flat(): void {
        this.secret();
      }

      private secret(): void {}
    }

    // @ts-expect-error - the method is private
    @Fallback('secret')
    class Other extends Shop {}

    // @ts-expect-error - a number is not a method
    @Fallback('total')
    class Another extends Shop {}

    expect([Shop, Other, Another]).toHaveLength(3);
    expect(Shop.prototype).toHaveProperty('secret');
  });
});

describe('the types of the others', () => {
  it('refuse what has no place at an entrypoint', () => {
    // @ts-expect-error - results are not retried at entrypoints
    Retry({ retryOnResult: () => true });
    // @ts-expect-error - events are named after the handler
    Retry({ name: 'mine' });
    // @ts-expect-error - a typo
    Retry({ maxAttempts: 3 });
    // @ts-expect-error - a duration has a unit
    Timeout('500');
    // @ts-expect-error - there is no such unit
    Timeout('5 sec');
    // @ts-expect-error - a budget has a unit
    Budget('500');
    // @ts-expect-error - a budget is for all attempts, so it is no function of one
    Budget((attempt: number) => attempt * 100);
    // @ts-expect-error - a preset has a name
    Resilience();
    // @ts-expect-error - an unknown window
    CircuitBreaker({ slidingWindow: { type: 'calls', size: 5 } });
    // @ts-expect-error - a bulkhead is no number
    Bulkhead(5);

    expect(Timeout((attempt) => attempt * 100)).toBeTypeOf('function');
  });
});
