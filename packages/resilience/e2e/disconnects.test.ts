import { Agent, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import {
  Catch,
  Controller,
  Get,
  HttpException,
  Injectable,
  Options,
  Post,
  Req,
  Res,
  UseGuards,
  UseInterceptors,
  type ArgumentsHost,
  type CallHandler,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import {
  Bulkhead,
  CircuitBreaker,
  ClientDisconnectedError,
  Fallback,
  ResilienceService,
  Retry,
  Signal,
  Timeout,
  type ResilienceModuleOptions,
  type ResiliencePolicy,
} from '@nestjs/resilience';
import { clientGone } from 'holdfast';
import { finalize, tap } from 'rxjs';
import { beforeEach, expect, it, vi } from 'vitest';
import { beforeClosing, freezeTime, onBothAdapters, type Application } from './fixtures/application.js';
import { Backend, turns, until } from './fixtures/backend.js';
import { send } from './fixtures/client.js';

let backend: Backend;
const down = new Error('down');
const seen: unknown[] = [];

beforeEach(() => {
  backend = new Backend();
  seen.length = 0;
  Slow.open = () => {};
});

/** Node's own, or what Fastify wraps around that. */
type Raw<Own> = Own & { readonly raw?: Own };

/** Holds requests until the test lets them pass. */
@Injectable()
class Slow implements CanActivate {
  static waiting = 0;
  static open = (): void => {};

  async canActivate(): Promise<boolean> {
    Slow.waiting += 1;
    await new Promise<void>((resolve) => (Slow.open = resolve));
    return true;
  }
}

/** Stands around the handler's plan, as loggers do. */
@Injectable()
class Witness implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler) {
    return next.handle().pipe(
      tap({ error: (error: unknown) => seen.push(error) }),
      finalize(() => seen.push('over')),
    );
  }
}

@Injectable()
class CarrierClient {
  private readonly policy: ResiliencePolicy;

  constructor(resilience: ResilienceService) {
    const stages = {
      retry: { attempts: 3, backoff: { delay: 10 } },
      circuitBreaker: { name: 'inner', minimumCalls: 1 },
    };
    this.policy = resilience.create({ ...stages, timeout: '1m', fallback: () => 'flat' }, 'carrier');
  }

  quotes(): Promise<unknown> {
    return this.policy.execute(({ signal }) => backend.call(signal));
  }
}

@Controller()
class QuotesController {
  constructor(private readonly carrier: CarrierClient) {}

  @Get('all')
  @Timeout('1m')
  @Retry({ attempts: 3, backoff: { delay: 100 } })
  @CircuitBreaker({ name: 'all', minimumCalls: 1 })
  @Bulkhead({ name: 'all', maxConcurrent: 1, maxQueue: 1 })
  @Fallback(() => backend.call())
  all(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @Options('all')
  @Bulkhead('all')
  options(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @Post('all')
  @Bulkhead('all')
  post(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @Post('repeatable')
  @Retry({ attempts: 2, idempotent: true })
  repeatable(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @Get('inherited')
  @Bulkhead()
  inherited() {
    return this.carrier.quotes();
  }

  @Get('deaf')
  @Bulkhead({ name: 'deaf', maxConcurrent: 1 })
  deaf() {
    return backend.call();
  }

  @Get('guarded')
  @UseGuards(Slow)
  @Bulkhead()
  guarded(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @Get('written')
  @Bulkhead({ name: 'written', maxConcurrent: 1 })
  async written(@Signal() signal: AbortSignal, @Res() response: { send(body: string): void }) {
    response.send('written');
    await backend.call(signal);
  }

  @Get('by-hand')
  async byHand(@Req() request: Raw<IncomingMessage>, @Res() response: Raw<ServerResponse>) {
    const signals = Array.from({ length: 20 }, () => clientGone(request.raw ?? request, response.raw ?? response));
    await Promise.allSettled(signals.map((signal) => backend.call(signal)));
  }

  @Get('plain')
  plain() {
    return backend.call();
  }
}

/** With an interceptor around the plan, which comes from the class. */
@Controller('witnessed')
@UseInterceptors(Witness)
class WitnessedController {
  @Get()
  @Timeout('1m')
  get(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }
}

@Catch()
class Filter implements ExceptionFilter {
  catch(exception: unknown, host: ArgumentsHost): void {
    seen.push(exception);
    const response = host.switchToHttp().getResponse<{ status(code: number): { send(body: unknown): void } }>();
    response.status(exception instanceof HttpException ? exception.getStatus() : 500).send({});
  }
}

onBothAdapters('A client that leaves', (start) => {
  const startQuotes = async (options: ResilienceModuleOptions = {}, filters = false): Promise<Application> =>
    start({
      controllers: [QuotesController, WitnessedController],
      providers: [CarrierClient, Slow, ...(filters ? [{ provide: APP_FILTER, useClass: Filter }] : [])],
      options,
    });
  /** Without the count of handlers that have not ended in the very moment when their client left. */
  const typesOf = ({ events }: Application) => events.map(({ type }) => type).filter((type) => type !== 'abandoned');
  /** Connections of the server, to look at what stands on them. */
  const connectionsOf = (app: Application): Socket[] => {
    const sockets: Socket[] = [];
    (app.app.getHttpServer() as Server).on('connection', (socket: Socket) => sockets.push(socket));
    return sockets;
  };

  it.each(['GET', 'HEAD', 'OPTIONS'])('ends the attempt of a %s with an error of its own', async (method) => {
    const app = await startQuotes();
    const request = send(`${app.url}/all`, { method });
    const running = await backend.reached(1);

    request.destroy();

    await until(() => running.state === 'cancelled');
    const handler = `QuotesController.${method === 'OPTIONS' ? 'options' : 'all'}`;
    expect(running.signal?.reason).toBeInstanceOf(ClientDisconnectedError);
    expect(running.signal?.reason).toMatchObject({ code: 'CLIENT_CLOSED_REQUEST', policy: handler });
    await turns();
    expect(app.events[0]).toEqual({ type: 'client-gone', policy: handler, source: handler });
    expect(typesOf(app)).toEqual(['client-gone']);
  });

  it('is nobody’s failure: nothing is repeated, replaced, counted, logged or held', async () => {
    const app = await startQuotes();
    freezeTime();
    const request = send(`${app.url}/all`);
    await backend.reached(1);
    expect(app.resilience.bulkhead('all').active).toBe(1);

    request.destroy();
    await until(() => backend.states[0] === 'cancelled');
    await turns();
    await vi.advanceTimersByTimeAsync(60_000);

    expect(backend.calls).toHaveLength(1);
    expect(typesOf(app)).toEqual(['client-gone']);
    expect(app.resilience.bulkhead('all')).toMatchObject({ active: 0, queued: 0, abandoned: 0 });
    expect(app.resilience.circuitBreaker('all').stats.total).toBe(0);
    expect(app.log).toMatchObject({ errors: [], warnings: [] });
    expect(vi.getTimerCount()).toBe(0);
  });

  it('ends the wait between two attempts', async () => {
    backend.script((call) => call.fail(down));
    const app = await startQuotes();
    freezeTime();
    const request = send(`${app.url}/all`);
    await backend.reached(1);
    await until(() => vi.getTimerCount() === 1);

    request.destroy();
    await until(() => vi.getTimerCount() === 0);
    await vi.advanceTimersByTimeAsync(60_000);

    expect(backend.calls).toHaveLength(1);
    expect(typesOf(app)).toEqual(['circuit-open', 'retry', 'client-gone']);
  });

  it('leaves the queue', async () => {
    const app = await startQuotes();
    const bulkhead = app.resilience.bulkhead('all');
    const first = app.call('/all');
    await backend.reached(1);
    const request = send(`${app.url}/all`);
    await until(() => bulkhead.queued === 1);

    request.destroy();

    await until(() => bulkhead.queued === 0);
    backend.calls[0]?.answer('fine');
    expect((await first).text).toBe('fine');
    expect(backend.calls).toHaveLength(1);
    expect(bulkhead.active).toBe(0);
  });

  it('ends the answer of a fallback', async () => {
    const app = await startQuotes();
    app.resilience.circuitBreaker('all').trip();
    const request = send(`${app.url}/all`);
    await backend.reached(1);

    request.destroy();

    await until(() => typesOf(app).includes('client-gone'));
    expect(typesOf(app)).toEqual(['circuit-open', 'circuit-rejected', 'fallback', 'client-gone']);
    backend.calls[0]?.answer('late');
    await turns();
    expect(app.log.errors).toEqual([]);
  });

  it('ends the policies of services, without a retry, a fallback or a failure there', async () => {
    const app = await startQuotes();
    const request = send(`${app.url}/inherited`);
    const inner = await backend.reached(1);

    request.destroy();

    await until(() => inner.state === 'cancelled');
    await turns();
    expect(inner.signal?.reason).toBeInstanceOf(ClientDisconnectedError);
    expect(backend.calls).toHaveLength(1);
    expect(typesOf(app)).toEqual(['client-gone']);
    expect(app.resilience.circuitBreaker('inner').stats.total).toBe(0);
  });

  it('frees the slot of a handler that does not listen, which is counted until it has ended', async () => {
    const app = await startQuotes();
    const bulkhead = app.resilience.bulkhead('deaf');
    const request = send(`${app.url}/deaf`);
    const running = await backend.reached(1);

    request.destroy();

    await until(() => bulkhead.active === 0);
    expect(bulkhead.abandoned).toBe(1);
    running.fail(new Error('late'));
    await turns();
    expect(bulkhead.abandoned).toBe(0);
    expect(app.events.map(({ type }) => type)).toEqual(['client-gone', 'abandoned']);
    expect(app.log.errors).toEqual([]);
  });

  it('before its handler has run is not worked for at all', async () => {
    const app = await startQuotes();
    Slow.waiting = 0;
    const request = send(`${app.url}/guarded`);
    await until(() => Slow.waiting === 1);
    request.destroy();
    await turns(50);

    Slow.open();

    await until(() => typesOf(app).length === 1);
    expect(typesOf(app)).toEqual(['client-gone']);
    expect(backend.calls).toEqual([]);
  });

  it.each([
    ['/all', 'QuotesController.post'],
    ['/repeatable', 'QuotesController.repeatable'],
  ])('ends no POST, whose work may be wanted all the same: %s', async (path) => {
    const app = await startQuotes();
    const request = send(`${app.url}${path}`, { method: 'POST' });
    const running = await backend.reached(1);

    request.destroy();
    await turns(50);

    expect(running.state).toBe('running');
    running.answer('done');
    await turns();
    expect(app.events).toEqual([]);
    expect(app.log.errors).toEqual([]);
  });

  it('ends a POST with abortOnDisconnect: always', async () => {
    const app = await startQuotes({ abortOnDisconnect: 'always' });
    const request = send(`${app.url}/all`, { method: 'POST', body: { some: 'body' } });
    const running = await backend.reached(1);

    request.destroy();

    await until(() => running.state === 'cancelled');
    expect(running.signal?.reason).toBeInstanceOf(ClientDisconnectedError);
  });

  it('ends nothing with abortOnDisconnect: never', async () => {
    const app = await startQuotes({ abortOnDisconnect: 'never' });
    const request = send(`${app.url}/deaf`);
    const running = await backend.reached(1);

    request.destroy();
    await turns(50);

    expect(app.resilience.bulkhead('deaf').active).toBe(1);
    running.answer('done');
    await turns();
    expect(app.resilience.bulkhead('deaf').active).toBe(0);
    expect(app.events).toEqual([]);
  });

  it('changes nothing where there is no plan', async () => {
    const app = await startQuotes();
    const request = send(`${app.url}/plain`);
    const running = await backend.reached(1);

    request.destroy();
    await turns(50);

    expect(running.state).toBe('running');
    running.answer('done');
    await turns();
    expect(app.events).toEqual([]);
  });

  it.each([{}, { mapErrors: false }])(
    'reaches interceptors around and filters as a 499 at most: %j',
    async (options) => {
      const app = await startQuotes(options, true);
      const request = send(`${app.url}/witnessed`);
      await backend.reached(1);

      request.destroy();

      await until(() => seen.length >= 1);
      await turns();
      const errors = seen.filter((one) => one !== 'over');
      for (const error of errors) {
        expect(error).toMatchObject({ status: 499, cause: { code: 'CLIENT_CLOSED_REQUEST' } });
      }
      expect(app.log.errors).toEqual([]);
    },
  );

  it('after its answer, or while its handler goes on behind it, has had what it came for', async () => {
    const app = await startQuotes();
    const answer = await app.call('/written');
    const running = await backend.reached(1);
    expect(answer.text).toBe('written');
    await turns(50);

    expect(running.state).toBe('running');
    expect(app.events).toEqual([]);
    running.answer('done');
    await until(() => app.resilience.bulkhead('written').active === 0);
  });

  it('is watched once per connection, and no listener stays on one that is kept', async () => {
    const app = await startQuotes();
    const sockets = connectionsOf(app);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    beforeClosing(() => agent.destroy());
    const counts: number[] = [];
    for (let nth = 1; nth <= 20; nth++) {
      const answering = app.call('/deaf', { agent });
      const running = await backend.reached(nth);
      const [socket] = sockets;
      counts.push(socket?.listenerCount('close') ?? -1);
      running.answer('fine');
      expect((await answering).text).toBe('fine');
    }

    expect(sockets).toHaveLength(1);
    expect(new Set(counts).size).toBe(1);
    const [idle] = sockets.map((socket) => socket.listenerCount('close'));
    expect(idle).toBeLessThan(counts[0] as number);
    expect(app.events).toEqual([]);

    // The same connection, now with a client that leaves.
    const request = send(`${app.url}/deaf`, { agent });
    await backend.reached(21);
    request.destroy();
    await until(() => typesOf(app).includes('client-gone'));
    expect(typesOf(app)).toEqual(['client-gone']);
    backend.calls[20]?.answer('late');
  });

  it('takes all that it had sent ahead with it, answered or not', async () => {
    const app = await startQuotes();
    const { port, hostname } = new URL(app.url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => {});
    const head = 'HTTP/1.1\r\nHost: test\r\n\r\n';
    socket.write(`GET /plain ${head}GET /inherited ${head}GET /witnessed ${head}`);
    await backend.reached(3);

    socket.destroy();

    await until(() => backend.states.filter((state) => state === 'cancelled').length === 2);
    await turns();
    expect(typesOf(app)).toEqual(['client-gone', 'client-gone']);
  });

  it.each([
    ['nothing of it has arrived', ''],
    ['a part of it has arrived', 'some'],
    ['all of it has arrived', 'complete!!'],
  ])('ends its attempt also when nobody reads the body of the request: %s', async (_what, body) => {
    const app = await startQuotes();
    const { port, hostname } = new URL(app.url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => {});
    socket.write(`GET /all HTTP/1.1\r\nHost: test\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n\r\n${body}`);
    const running = await backend.reached(1);

    socket.destroy();

    await until(() => running.state === 'cancelled');
    await turns();
    expect(typesOf(app)).toEqual(['client-gone']);
    expect(app.log.errors).toEqual([]);
  });

  it('is seen by hand where there is no plan, however often a handler asks, without a warning of Node', async () => {
    const warn = vi.fn();
    process.on('warning', warn);
    beforeClosing(() => process.off('warning', warn));
    const app = await startQuotes();
    const request = send(`${app.url}/by-hand`);
    await backend.reached(20);

    request.destroy();

    await until(() => backend.states.every((state) => state === 'cancelled'));
    expect(backend.calls[0]?.signal?.reason).toBeInstanceOf(ClientDisconnectedError);
    await turns();
    expect(app.events).toEqual([]);
    expect(warn).not.toHaveBeenCalled();
  });

  it('is not one whose answer is on its way', async () => {
    const app = await startQuotes();
    const answers = Array.from({ length: 20 }, () => app.call('/inherited'));
    for (let nth = 1; nth <= 20; nth++) (await backend.reached(nth)).answer('fine');

    expect((await Promise.all(answers)).map(({ text }) => text)).toEqual(Array.from({ length: 20 }, () => 'fine'));
    expect(app.events).toEqual([]);
  });
});
