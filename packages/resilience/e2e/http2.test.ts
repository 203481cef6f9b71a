import { constants } from 'node:http2';
import { PassThrough } from 'node:stream';
import { Controller, Get, Sse, StreamableFile } from '@nestjs/common';
import { Bulkhead, CircuitBreaker, Signal, Timeout } from '@nestjs/resilience';
import { concat, NEVER, of } from 'rxjs';
import { beforeEach, expect, it, vi } from 'vitest';
import { freezeTime, onBothAdapters } from './fixtures/application.js';
import { Backend, turns, until } from './fixtures/backend.js';
import { get, startHttp2 } from './fixtures/http2.js';

let backend: Backend;

beforeEach(() => {
  backend = new Backend();
});

@Controller()
class StreamsController {
  @Get('limited')
  @Timeout(100)
  limited(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @Get('broken')
  @CircuitBreaker({ name: 'broken', openDuration: '30s' })
  @Timeout('1m')
  broken() {
    return backend.call();
  }

  @Sse('feed')
  @Bulkhead({ name: 'feeds', maxConcurrent: 1 })
  feed() {
    return concat(of({ data: 'first' }), NEVER);
  }

  @Get('capped')
  @Bulkhead({ name: 'capped' })
  capped(@Signal() signal: AbortSignal) {
    return backend.call(signal);
  }

  @Get('file')
  @Bulkhead({ name: 'files', maxConcurrent: 1 })
  @CircuitBreaker({ name: 'files' })
  file() {
    return backend.call();
  }
}

onBothAdapters('Over HTTP/2', (start, adapter) => {
  const open = () => startHttp2(start, adapter, { controllers: [StreamsController] });

  it('timeouts and refusals are answered as over HTTP/1', async () => {
    const { request, app } = await open();
    app.resilience.circuitBreaker('broken').trip();
    const refused = await request('/broken');
    expect(refused.status).toBe(503);
    expect(refused.headers['retry-after']).toBe('30');
    expect(JSON.parse(refused.text)).toMatchObject({ code: 'CIRCUIT_OPEN' });

    freezeTime();
    const late = request('/limited');
    await backend.reached(1);
    await vi.advanceTimersByTimeAsync(100);
    expect(JSON.parse((await late).text)).toMatchObject({ statusCode: 504, code: 'TIMEOUT' });
  });

  it('a streamed file keeps its slot until it was transferred', async () => {
    const { request, app } = await open();
    const bulkhead = app.resilience.bulkhead('files');
    const source = new PassThrough();
    const answer = request('/file');
    (await backend.reached(1)).answer(new StreamableFile(source));
    source.write('first ');
    await turns(50);
    expect(bulkhead.active).toBe(1);

    source.end('second');

    expect((await answer).text).toBe('first second');
    await until(() => bulkhead.active === 0);
  });

  it('server-sent events give their slot back when the client resets the stream, though the connection stays', async () => {
    const { connection, app } = await open();
    const bulkhead = app.resilience.bulkhead('feeds');
    const stream = connection.request({ ':path': '/feed' }).setEncoding('utf8');
    let text = '';
    stream.on('data', (chunk: string) => (text += chunk));
    stream.on('error', () => {});
    await until(() => text.includes('data: first'));
    expect(bulkhead.active).toBe(1);

    stream.close();

    await until(() => bulkhead.active === 0);
    expect(connection.closed).toBe(false);
  });

  it('a client that resets its stream ends its attempt, and those of nobody else', async () => {
    const { connection, app } = await open();
    const left = connection.request({ ':path': '/capped' });
    left.on('error', () => {});
    const first = await backend.reached(1);
    const other = get(connection, { ':path': '/capped' });
    const second = await backend.reached(2);

    left.close(constants.NGHTTP2_CANCEL);

    await until(() => first.state === 'cancelled');
    expect(first.signal?.reason).toMatchObject({ code: 'CLIENT_CLOSED_REQUEST' });
    expect(second.state).toBe('running');
    second.answer('fine');
    expect(await other).toMatchObject({ status: 200, text: 'fine' });
    await turns();
    expect(app.events.map(({ type }) => type).filter((type) => type === 'client-gone')).toHaveLength(1);
    expect(app.log.errors).toEqual([]);
  });

  it('a client that closes its connection ends all of its attempts', async () => {
    const { connection, app } = await open();
    for (const nth of [1, 2]) {
      connection.request({ ':path': '/capped' }).on('error', () => {});
      await backend.reached(nth);
    }

    connection.destroy();

    await until(() => backend.states.every((state) => state === 'cancelled'));
    await turns();
    expect(app.resilience.bulkhead('capped').active).toBe(0);
    expect(app.log.errors).toEqual([]);
  });

  it('answers that arrive are no departures, with a body or without', async () => {
    backend.script((call, nth) => call.answer(nth === 1 ? 'fine' : undefined));
    const { request, app } = await open();

    expect((await request('/capped')).text).toBe('fine');
    expect((await request('/capped')).text).toBe('');
    await turns();
    expect(app.events).toEqual([]);
  });

  it('a file that is cut off by its client is a departure, and no success', async () => {
    const { connection, app } = await open();
    const stream = connection.request({ ':path': '/file' });
    stream.on('error', () => {});
    (await backend.reached(1)).answer(new StreamableFile(new PassThrough()));
    await turns(50);

    stream.close(constants.NGHTTP2_CANCEL);

    await until(() => app.resilience.bulkhead('files').active === 0);
    expect(app.events.map(({ type }) => type)).toEqual(['client-gone']);
    expect(app.resilience.circuitBreaker('files').stats.total).toBe(0);
  });

  it('a file that is cut off after all of it was written is a departure too', async () => {
    const { connection, app } = await open();
    const stream = connection.request({ ':path': '/file' });
    stream.on('error', () => {});
    (await backend.reached(1)).answer(new StreamableFile(Buffer.alloc(3_000_000)));
    await turns(50);

    stream.close(constants.NGHTTP2_CANCEL);

    await until(() => app.resilience.bulkhead('files').active === 0);
    expect(app.events.map(({ type }) => type)).toEqual(['client-gone']);
    expect(app.resilience.circuitBreaker('files').stats.total).toBe(0);
  });

  it('a client that resets its stream without an error, or a body that nobody has read, ends its attempt', async () => {
    const { connection, app } = await open();
    const streams = [
      connection.request({ ':path': '/capped' }),
      connection.request({ ':path': '/capped', 'content-type': 'text/plain' }, { endStream: false }),
    ];
    for (const [index, stream] of streams.entries()) {
      stream.on('error', () => {});
      const running = await backend.reached(index + 1);
      stream.close(constants.NGHTTP2_NO_ERROR);
      await until(() => running.state === 'cancelled');
      expect(running.signal?.reason).toMatchObject({ code: 'CLIENT_CLOSED_REQUEST' });
    }
    await turns();
    expect(app.log.errors).toEqual([]);
  });

  it('a streamed file gives its slot back when the client resets the stream, though the connection stays', async () => {
    const { connection, request, app } = await open();
    const bulkhead = app.resilience.bulkhead('files');
    const stream = connection.request({ ':path': '/file' });
    stream.on('error', () => {});
    (await backend.reached(1)).answer(new StreamableFile(new PassThrough()));
    await turns(50);
    expect(bulkhead.active).toBe(1);

    stream.close();

    await until(() => bulkhead.active === 0);
    backend.script((call) => call.answer('fine'));
    expect((await request('/file')).text).toBe('fine');
  });
});
