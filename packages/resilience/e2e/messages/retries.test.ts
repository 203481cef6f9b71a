import {
  Catch,
  Controller,
  Inject,
  Injectable,
  Scope,
  UseFilters,
  type ArgumentsHost,
  type ExceptionFilter,
} from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { MessagePattern, RpcException } from '@nestjs/microservices';
import { Fallback, Resilience, ResilienceTimeoutError, Retry, Signal, Timeout } from '@nestjs/resilience';
import { concat, defer, from, of, throwError } from 'rxjs';
import { beforeEach, expect, it, vi } from 'vitest';
import { freezeTime } from '../fixtures/application.js';
import { Backend, DependencyError } from '../fixtures/backend.js';
import { EVERY_TRANSPORT, onTransports, patternOf } from '../fixtures/microservice.js';

let backend: Backend;
let subscriptions = 0;
const filtered: unknown[] = [];
const down = new DependencyError(503);

beforeEach(() => {
  backend = new Backend();
  backend.script((call) => call.fail(down));
  subscriptions = 0;
  filtered.length = 0;
});

const INTERNAL = { status: 'error', message: 'Internal server error' };
const TIMEOUT = { status: 'error', code: 'TIMEOUT', statusCode: 504, message: 'The operation timed out' };

@Catch(RpcException)
class PayloadFilter implements ExceptionFilter {
  catch(exception: RpcException, _host: ArgumentsHost) {
    filtered.push(exception.cause, exception.getError());
    return throwError(() => ({ filtered: true }));
  }
}

@Controller()
@Resilience('carrier')
class PresetHandlers {
  @MessagePattern(patternOf('preset'))
  preset(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @MessagePattern(patternOf('opted-in'))
  @Retry()
  optedIn(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @MessagePattern(patternOf('raised'))
  @Retry({ attempts: 3 })
  raised(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }
}

@Controller()
@Retry({ attempts: 3, backoff: { delay: 0 } })
class ClassHandlers {
  @MessagePattern(patternOf('class-level'))
  get(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }
}

@Controller()
@Retry({ attempts: 3, backoff: { delay: 0 }, idempotent: true })
class IdempotentHandlers {
  @MessagePattern(patternOf('idempotent'))
  get(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }
}

@Injectable({ scope: Scope.REQUEST })
class PerMessage {
  readonly call = backend.call;

  constructor(@Inject(REQUEST) readonly message: { readonly data: unknown }) {}
}

@Controller()
class ScopedHandlers {
  constructor(private readonly perMessage: PerMessage) {}

  @MessagePattern(patternOf('request-scoped'))
  @Timeout('1s')
  @Retry({ attempts: 2, backoff: { delay: 0 } })
  get(@Signal() signal: AbortSignal) {
    return this.perMessage.call(signal);
  }

  @MessagePattern(patternOf('echo'))
  @Retry({ attempts: 2, backoff: { delay: 0 } })
  async echo() {
    await this.perMessage.call();
    return this.perMessage.message.data;
  }
}

@Controller()
class StreamHandlers {
  @MessagePattern(patternOf('several'))
  @Timeout('1s')
  several() {
    return from(['ground', 'express', 'drone']);
  }

  @MessagePattern(patternOf('fails-before'))
  @Timeout('1s')
  @Retry({ attempts: 3, backoff: { delay: 0 } })
  failsBefore() {
    return defer(() => (++subscriptions < 3 ? throwError(() => down) : of('ground', 'express')));
  }

  @MessagePattern(patternOf('fails-after'))
  @Timeout('1s')
  @Retry({ attempts: 3, backoff: { delay: 0 } })
  @Fallback(() => 'flat')
  failsAfter() {
    subscriptions++;
    return concat(
      of('ground'),
      throwError(() => down),
    );
  }

  @MessagePattern(patternOf('silent'))
  @Timeout('1s')
  silent() {
    return from(backend.call());
  }

  @MessagePattern(patternOf('slow-end'))
  @Timeout('1s')
  slowEnd(@Signal() signal: AbortSignal) {
    return concat(of('ground'), from(backend.call(signal)));
  }

  @MessagePattern(patternOf('filtered'))
  @Timeout('1s')
  @UseFilters(PayloadFilter)
  filtered(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }
}

const DEFINITION = {
  controllers: [PresetHandlers, ClassHandlers, IdempotentHandlers, ScopedHandlers, StreamHandlers],
  providers: [PerMessage],
  options: { presets: { carrier: { timeout: '1s', retry: { attempts: 2, backoff: { delay: 0 } } } } },
} as const;

onTransports(EVERY_TRANSPORT, 'A message', (start) => {
  const startQuotes = () => start({ ...DEFINITION, controllers: [...DEFINITION.controllers], providers: [PerMessage] });

  it.each([
    ['preset', 1, 'never by a preset'],
    ['class-level', 1, 'never by a class'],
    ['idempotent', 3, 'by a class that declares all of its handlers safe to repeat'],
    ['opted-in', 2, 'by its own @Retry(), with the attempts of the preset'],
    ['raised', 3, 'by its own @Retry(), which raises the attempts over those of the preset'],
    ['request-scoped', 2, 'in a request-scoped controller'],
  ])('is handled again as declared: "%s" %i times, %s', async (handler, attempts) => {
    const { send, log } = await startQuotes();

    await expect(send(patternOf(handler))).rejects.toStrictEqual(INTERNAL);
    expect(backend.calls).toHaveLength(attempts);
    expect(log.errors).toHaveLength(1);
  });

  it('is answered once, by the attempt that succeeds', async () => {
    backend.script((call, nth) => (nth === 1 ? call.fail(down) : call.answer(`attempt ${nth}`)));
    const { send, log } = await startQuotes();

    expect(await send(patternOf('raised'))).toEqual(['attempt 2']);
    expect(log.errors).toEqual([]);
  });

  it('has a signal of its own in each attempt, in a request-scoped controller too', async () => {
    backend.script(() => {});
    const { send } = await startQuotes();
    freezeTime();
    const answer = send(patternOf('request-scoped'));
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(1_001);
    (await backend.reached(2)).answer('late');

    expect(await answer).toEqual(['late']);
    expect(backend.calls.map(({ signal }) => signal?.aborted)).toEqual([true, false]);
  });

  it('keeps its own instance of a request-scoped controller in attempts that begin after another has come', async () => {
    backend.script(() => {});
    const { send } = await startQuotes();
    const ann = send(patternOf('echo'), { user: 'ann' });
    const firstOfAnn = await backend.reached(1);
    const bob = send(patternOf('echo'), { user: 'bob' });
    const firstOfBob = await backend.reached(2);

    firstOfAnn.fail(down);
    (await backend.reached(3)).answer('fine');
    firstOfBob.fail(down);
    (await backend.reached(4)).answer('fine');

    expect([await ann, await bob]).toEqual([[{ user: 'ann' }], [{ user: 'bob' }]]);
  });

  it('is answered with all values of a stream', async () => {
    const { send } = await startQuotes();

    expect(await send(patternOf('several'))).toEqual(['ground', 'express', 'drone']);
  });

  it('is handled again when a stream fails before its first value', async () => {
    const { send } = await startQuotes();

    expect(await send(patternOf('fails-before'))).toEqual(['ground', 'express']);
    expect(subscriptions).toBe(3);
  });

  it('is committed by the first value: nothing is repeated or replaced after it', async () => {
    const { client } = await startQuotes();
    const seen: unknown[] = [];
    await new Promise<void>((resolve) => {
      client.send(patternOf('fails-after'), {}).subscribe({
        next: (value) => seen.push(value),
        error: (error: unknown) => resolve(void seen.push(error)),
      });
    });

    expect(seen).toEqual(['ground', INTERNAL]);
    expect(subscriptions).toBe(1);
  });

  it('has a limit until the first value only', async () => {
    backend.script(() => {});
    const { send } = await startQuotes();
    freezeTime();
    const silent = send(patternOf('silent'));
    await backend.reached(1);
    const slow = send(patternOf('slow-end'));
    const running = await backend.reached(2);
    await vi.advanceTimersByTimeAsync(60_000);
    running.answer('drone');

    await expect(silent).rejects.toStrictEqual(TIMEOUT);
    expect(await slow).toEqual(['ground', 'drone']);
  });

  it('shows exception filters an RpcException with the policy’s error as its cause', async () => {
    backend.script(() => {});
    const { send } = await startQuotes();
    freezeTime();
    const answer = send(patternOf('filtered'));
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(1_000);

    await expect(answer).rejects.toStrictEqual({ filtered: true });
    expect(filtered).toEqual([expect.any(ResilienceTimeoutError), TIMEOUT]);
  });
});
