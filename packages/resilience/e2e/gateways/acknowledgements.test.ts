import { Catch, UseFilters, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { CircuitOpenError, Fallback, Retry, Signal, Timeout } from '@nestjs/resilience';
import { Ack, MessageBody, SubscribeMessage, WebSocketGateway, type WsException } from '@nestjs/websockets';
import { concat, of, throwError } from 'rxjs';
import { beforeEach, expect, it, vi } from 'vitest';
import { freezeTime } from '../fixtures/application.js';
import { Backend, DependencyError, isPending, until } from '../fixtures/backend.js';
import { onSockets, type Received } from '../fixtures/gateway.js';

let backend: Backend;
const down = new CircuitOpenError('carrier', 1_001);

beforeEach(() => {
  backend = new Backend();
});

/** As the documentation of Nest has it: the filter answers, and finds the acknowledgement among the arguments. */
@Catch()
class AnsweringFilter implements ExceptionFilter<WsException> {
  catch(error: WsException, host: ArgumentsHost): void {
    const acknowledge = host.getArgByIndex<(answer: unknown) => void>(2);
    acknowledge({ filtered: error.getError() });
  }
}

@Catch(TypeError)
class OtherFilter implements ExceptionFilter {
  catch(): void {}
}

@WebSocketGateway()
class QuotesGateway {
  @SubscribeMessage('quotes')
  @Timeout('1s')
  quotes(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @SubscribeMessage('repeated')
  @Retry({ attempts: 2, backoff: { delay: 0 } })
  @Timeout('1s')
  repeated(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @SubscribeMessage('fallback')
  @Timeout('1s')
  @Fallback(() => ({ price: 4.99 }))
  fallback(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @SubscribeMessage('undecorated')
  undecorated() {
    throw down;
  }

  @SubscribeMessage('failing')
  @Timeout('1s')
  failing() {
    throw new DependencyError(500);
  }

  @SubscribeMessage('streamed')
  @Timeout('1s')
  streamed() {
    return concat(
      of('ground'),
      throwError(() => down),
    );
  }

  @SubscribeMessage('undecorated-stream')
  undecoratedStream() {
    return this.streamed();
  }

  @SubscribeMessage('filtered')
  @UseFilters(OtherFilter, AnsweringFilter)
  filtered() {
    throw down;
  }

  @SubscribeMessage('filtered-otherwise')
  @UseFilters(new OtherFilter())
  filteredOtherwise() {
    throw down;
  }

  @SubscribeMessage('by-hand')
  @Timeout('1s')
  async byHand(
    @MessageBody() early: boolean,
    @Ack() acknowledge: (answer: string) => void,
    @Signal() signal: AbortSignal,
  ) {
    if (early) acknowledge('early');
    await backend.call(signal);
    if (!early) acknowledge('late');
    if (early) throw down;
  }

  @SubscribeMessage('repeated-by-hand')
  @Retry({ attempts: 2, backoff: { delay: 0 } })
  @Timeout('1s')
  @Fallback(() => undefined)
  async repeatedByHand(
    @MessageBody() early: boolean,
    @Ack() acknowledge: (answer: string) => void,
    @Signal() signal: AbortSignal,
  ) {
    if (early) acknowledge('early');
    await backend.call(signal);
    acknowledge('late');
  }

  @SubscribeMessage('undecorated-by-hand')
  undecoratedByHand(@Ack() acknowledge: (answer: string) => void) {
    acknowledge('early');
    throw down;
  }
}

const OPEN = {
  status: 'error',
  code: 'CIRCUIT_OPEN',
  statusCode: 503,
  message: 'Service temporarily unavailable',
  retryAfter: 2,
};
const TIMED_OUT = { status: 'error', code: 'TIMEOUT', statusCode: 504, message: 'The operation timed out' };

onSockets(['Socket.IO'], 'An acknowledgement that the client waits for', (start) => {
  const startQuotes = async () => {
    const gateway = await start({ providers: [QuotesGateway] });
    const socket = await gateway.connectIo();
    const received: Received[] = [];
    socket.onAny((event: string, data: unknown) => received.push({ event, data }));
    freezeTime();
    const ask = (event: string, data: unknown = {}): Promise<unknown> => socket.emitWithAck(event, data);
    return { ...gateway, received, ask };
  };

  it('is what the handler returns, also in a later attempt', async () => {
    backend.script((call, nth) => (nth === 1 ? call.fail(new DependencyError(503)) : call.answer({ price: 6.9 })));
    const { ask } = await startQuotes();
    const answer = ask('repeated');
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(1);

    expect(await answer).toEqual({ price: 6.9 });
    expect(backend.calls).toHaveLength(2);
  });

  it('is what the fallback returns', async () => {
    const { ask } = await startQuotes();
    const answer = ask('fallback');
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(1_000);

    expect(await answer).toEqual({ price: 4.99 });
  });

  it('is the payload of a failure, which is not emitted as well', async () => {
    const { ask, received, log } = await startQuotes();
    const answer = ask('quotes');
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(1_000);

    expect(await answer).toStrictEqual(TIMED_OUT);
    await ask('undecorated');
    expect(received).toEqual([]);
    expect(log).toMatchObject({ errors: [], warnings: [] });
  });

  it.each(['undecorated', 'filtered-otherwise'])('is it as well where no policy stands (%s)', async (event) => {
    const { ask, received } = await startQuotes();

    expect(await ask(event)).toStrictEqual(OPEN);
    await ask('undecorated');
    expect(received).toEqual([]);
  });

  it('is left to the filters of the handler, which catch what Nest would send', async () => {
    const { ask } = await startQuotes();

    expect(await ask('filtered')).toStrictEqual({ filtered: OPEN });
  });

  it('never comes for errors that are not ours, as it does in Nest', async () => {
    const { ask, received, log } = await startQuotes();
    const answer = ask('failing');
    await until(() => received.length > 0);

    expect(await isPending(answer)).toBe(true);
    expect(received).toMatchObject([{ event: 'exception', data: { message: 'Internal server error' } }]);
    expect(log.errors).toHaveLength(1);
  });

  it.each(['streamed', 'undecorated-stream'])(
    'is the first of several values; what fails then is emitted (%s)',
    async (event) => {
      const { ask, received } = await startQuotes();

      expect(await ask(event)).toBe('ground');
      await until(() => received.length > 0);
      expect(received).toEqual([{ event: 'exception', data: OPEN }]);
    },
  );

  it('is the payload too when the handler that acknowledges by itself has not come to it', async () => {
    const { ask, received } = await startQuotes();
    const answer = ask('by-hand', false);
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(1_000);

    expect(await answer).toStrictEqual(TIMED_OUT);
    await ask('undecorated');
    expect(received).toEqual([]);
  });

  it('is the handler’s when it has acknowledged by itself; what fails then is emitted', async () => {
    const { ask, received } = await startQuotes();
    const answer = ask('by-hand', true);
    (await backend.reached(1)).answer('done');

    expect(await answer).toBe('early');
    expect(await ask('undecorated-by-hand')).toBe('early');
    await until(() => received.length > 1);
    expect(received).toEqual([
      { event: 'exception', data: OPEN },
      { event: 'exception', data: OPEN },
    ]);
  });

  it('of the handler itself ends repeating, replacing and the time limit, as a value does', async () => {
    const { ask, received } = await startQuotes();
    const answer = ask('repeated-by-hand', true);
    const running = await backend.reached(1);
    expect(await answer).toBe('early');
    await vi.advanceTimersByTimeAsync(10_000);
    expect(running.state).toBe('running');
    running.fail(down);

    await until(() => received.length > 0);
    expect(received).toEqual([{ event: 'exception', data: OPEN }]);
    expect(backend.calls).toHaveLength(1);
  });

  it('of the handler itself may come from a later attempt', async () => {
    backend.script((call, nth) => (nth === 1 ? call.fail(new DependencyError(503)) : call.answer('done')));
    const { ask } = await startQuotes();
    const answer = ask('repeated-by-hand', false);
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(1);

    expect(await answer).toBe('late');
  });
});
