import { HttpModule, HttpService } from '@nestjs/axios';
import { Controller, Get, Injectable, Post } from '@nestjs/common';
import { isNetworkError, ResilienceContext, Retry, Signal, Timeout } from '@nestjs/resilience';
import { firstValueFrom, map } from 'rxjs';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { freezeTime, onBothAdapters } from './fixtures/application.js';
import { isPending, until } from './fixtures/backend.js';
import { Upstream, type Behaviour } from './fixtures/upstream.js';

let upstream: Upstream;

beforeEach(async () => {
  upstream = await Upstream.start();
});

afterEach(() => upstream.stop());

@Injectable()
class Client {
  constructor(
    private readonly http: HttpService,
    private readonly context: ResilienceContext,
  ) {}

  async fetch(signal: AbortSignal): Promise<unknown> {
    const response = await fetch(upstream.url, { signal });
    return response.json();
  }

  async fetchByContext(): Promise<unknown> {
    const response = await fetch(upstream.url, { signal: this.context.signal ?? null });
    return response.json();
  }

  /** An Observable: unsubscribing from it does not cancel the request in every version, the signal does. */
  observe(signal: AbortSignal) {
    return this.http.get<unknown>(upstream.url, { signal }).pipe(map(({ data }) => data));
  }

  await(signal: AbortSignal): Promise<unknown> {
    return firstValueFrom(this.observe(signal));
  }
}

@Controller()
class ProxyController {
  constructor(private readonly client: Client) {}

  @Get('fetch')
  @Timeout(100)
  fetch(@Signal() signal: AbortSignal) {
    return this.client.fetch(signal);
  }

  @Get('context')
  @Timeout(100)
  context() {
    return this.client.fetchByContext();
  }

  @Get('observable')
  @Timeout(100)
  observable(@Signal() signal: AbortSignal) {
    return this.client.observe(signal);
  }

  @Get('axios')
  @Timeout(100)
  axios(@Signal() signal: AbortSignal) {
    return this.client.await(signal);
  }

  @Get('network')
  @Retry({ attempts: 3, backoff: { delay: 0 }, retryIf: (error) => isNetworkError(error) })
  network(@Signal() signal: AbortSignal) {
    return this.client.fetch(signal);
  }

  @Post('network')
  @Retry({ attempts: 3, backoff: { delay: 0 } })
  posted(@Signal() signal: AbortSignal) {
    return this.client.fetch(signal);
  }
}

onBothAdapters('An upstream that is slow', (start) => {
  const startProxy = () => start({ controllers: [ProxyController], providers: [Client], imports: [HttpModule] });
  const WAYS = ['/fetch', '/context', '/observable', '/axios'];
  const SLOW: Behaviour[] = ['hang', 'trickle head', 'trickle body', 'hang in the body'];

  it.each(WAYS.flatMap((way) => SLOW.map((behaviour) => [way, behaviour] as const)))(
    'has its socket closed at the limit, whichever phase it is in: %s, %s',
    async (way, behaviour) => {
      upstream.behave(behaviour);
      const { call } = await startProxy();
      freezeTime();
      const answer = call(way);
      const request = await upstream.reached(1);

      await vi.advanceTimersByTimeAsync(99);
      expect(await isPending(answer)).toBe(true);
      expect(request.state).toBe('running');
      await vi.advanceTimersByTimeAsync(1);

      const { status, body } = await answer;
      expect(status).toBe(504);
      expect(body).toMatchObject({ code: 'TIMEOUT' });
      await request.ended;
      expect(upstream.states).toEqual(['cut off']);
    },
  );

  it.each(WAYS)('and answers in time is passed on: %s', async (way) => {
    upstream.behave({ status: 200, json: { fine: true } });
    const { call } = await startProxy();
    freezeTime();

    expect((await call(way)).body).toEqual({ fine: true });
    await until(() => upstream.states[0] === 'answered');
  });
});

onBothAdapters('A connection that breaks', (start) => {
  const startProxy = () => start({ controllers: [ProxyController], providers: [Client], imports: [HttpModule] });

  it('in mid-answer is a reason to repeat a GET', async () => {
    upstream.behave((nth) => (nth < 3 ? 'reset' : { status: 200, json: 'third' }));
    const { call } = await startProxy();

    expect((await call('/network')).text).toBe('third');
    expect(upstream.requests).toHaveLength(3);
  });

  it('is none to repeat a POST', async () => {
    upstream.behave('reset');
    const { call } = await startProxy();

    expect((await call('/network', { method: 'POST' })).status).toBe(500);
    expect(upstream.requests).toHaveLength(1);
  });
});
