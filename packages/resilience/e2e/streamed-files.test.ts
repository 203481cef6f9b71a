import { createReadStream } from 'node:fs';
import { Agent, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { Controller, Get, StreamableFile } from '@nestjs/common';
import {
  Bulkhead,
  CircuitBreaker,
  ClientDisconnectedError,
  Fallback,
  Retry,
  Signal,
  Timeout,
} from '@nestjs/resilience';
import { of } from 'rxjs';
import { beforeEach, expect, it, vi } from 'vitest';
import { beforeClosing, freezeTime, onBothAdapters, type Application } from './fixtures/application.js';
import { Backend, turns, until } from './fixtures/backend.js';
import { send } from './fixtures/client.js';

let backend: Backend;
let signals: AbortSignal[] = [];

beforeEach(() => {
  backend = new Backend();
  signals = [];
});

@Controller()
class FilesController {
  @Get('file')
  @Bulkhead({ name: 'transfers', maxConcurrent: 1 })
  @CircuitBreaker({ name: 'store' })
  @Timeout(100)
  @Retry({ attempts: 2, backoff: { delay: 20, jitter: 'none' } })
  @Fallback(() => 'replaced')
  file(@Signal() signal: AbortSignal) {
    signals.push(signal);
    return backend.call();
  }

  @Get('pending')
  pending() {
    return new Promise(() => {});
  }

  @Get('stale')
  @Fallback(() => new StreamableFile(Buffer.from('stale')))
  @Bulkhead({ name: 'stale', maxConcurrent: 1 })
  stale() {
    return backend.call();
  }

  @Get('observed')
  @Bulkhead({ name: 'observed', maxConcurrent: 1 })
  observed() {
    return of(new StreamableFile(Buffer.from('observed')));
  }
}

/** Kinds of bodies that Nest reads while it sends them, each fed from a source that the test holds. */
const KINDS: [string, (source: PassThrough) => unknown][] = [
  ['a StreamableFile', (source) => new StreamableFile(source)],
  ['a Node stream', (source) => source],
  ['a web stream', toWebStream],
  ['a web Response', (source) => new Response(toWebStream(source))],
  ['an async generator', (source) => generate(source)],
];

/** `Readable.toWeb()` ends the process of Node 20 when its stream is cancelled while data is on its way. */
function toWebStream(source: PassThrough): ReadableStream {
  return new ReadableStream({
    start(controller) {
      source.on('data', (chunk: Buffer) => source.destroyed || controller.enqueue(new Uint8Array(chunk)));
      source.on('end', () => controller.close());
      source.on('error', (error) => controller.error(error));
    },
    cancel: () => void source.destroy(),
  });
}

async function* generate(source: PassThrough): AsyncGenerator<unknown> {
  yield* source;
}

onBothAdapters('A body that is read while it is sent', (start) => {
  const startFiles = async () => {
    const app = await start({ controllers: [FilesController] });
    const state = () => ({
      active: app.resilience.bulkhead('transfers').active,
      abandoned: app.resilience.bulkhead('transfers').abandoned,
      ...app.resilience.circuitBreaker('store').stats,
    });

    return { ...app, state };
  };
  const isIdle = (app: Application) => until(() => app.resilience.bulkhead('transfers').active === 0);

  it.each(KINDS)('keeps its slot, and counts, until it has been transferred: %s', async (_, bodyOf) => {
    const app = await startFiles();
    const source = new PassThrough();
    const opening = app.open('/file');
    (await backend.reached(1)).answer(bodyOf(source));
    source.write('first ');
    const answer = await opening;
    await answer.until('first');
    expect(answer.status).toBe(200);
    expect(app.state()).toMatchObject({ active: 1, total: 0 });
    expect((await app.call('/file')).status).toBe(200); // the fallback, for a full bulkhead
    expect(backend.calls).toHaveLength(1);

    source.end('second');

    expect(await answer.closed).toBe('complete');
    expect(answer.text).toBe('first second');
    await isIdle(app);
    expect(app.state()).toMatchObject({ active: 0, abandoned: 0, total: 1, failures: 0 });
    expect(signals[0]?.aborted).toBe(false);
  });

  it.each(KINDS)('is not cut by a limit that it has met: %s', async (_, bodyOf) => {
    const app = await startFiles();
    freezeTime();
    const source = new PassThrough();
    const opening = app.open('/file');
    const running = await backend.reached(1);
    await vi.advanceTimersByTimeAsync(99);
    running.answer(bodyOf(source));
    await turns();
    await vi.advanceTimersByTimeAsync(60_000); // before its first byte
    source.write('first ');
    const answer = await opening;
    await answer.until('first');
    await vi.advanceTimersByTimeAsync(60_000);
    source.end('second');

    expect(await answer.closed).toBe('complete');
    expect(answer.text).toBe('first second');
    await isIdle(app);
    expect(app.state()).toMatchObject({ total: 1, failures: 0 });
    expect(app.events).toEqual([]);
  });

  it.each(KINDS)('gives its slot back when the client leaves, which is nobody’s failure: %s', async (kind, bodyOf) => {
    const app = await startFiles();
    const source = new PassThrough();
    const opening = app.open('/file');
    (await backend.reached(1)).answer(bodyOf(source));
    source.write('first ');
    const answer = await opening;
    await answer.until('first');

    answer.leave();

    await isIdle(app);
    expect(app.state()).toMatchObject({ total: 0, abandoned: 0 });
    expect(app.events.map(({ type }) => type)).toEqual(['client-gone']);
    expect(signals[0]?.reason).toBeInstanceOf(ClientDisconnectedError);
    // A generator that waits for its source cannot be stopped.
    if (kind !== 'an async generator') await until(() => source.destroyed);
  });

  it('gives its slot back when the client leaves after all was written, and before all was sent: no success', async () => {
    const app = await startFiles();
    const opening = app.open('/file');
    (await backend.reached(1)).answer(new StreamableFile(Buffer.alloc(20_000_000)));
    const answer = await opening;
    answer.pause();
    await turns();
    expect(app.state()).toMatchObject({ active: 1, total: 0 });

    answer.leave();

    await isIdle(app);
    expect(app.state()).toMatchObject({ total: 0, abandoned: 0 });
    expect(app.events.map(({ type }) => type)).toEqual(['client-gone']);
  });

  it.each(KINDS)(
    'is sent without a warning of Node about listeners, and leaves none on a kept connection: %s',
    async (_, bodyOf) => {
      const warn = vi.fn();
      process.on('warning', warn);
      const sockets: Socket[] = [];
      const app = await startFiles();
      (app.app.getHttpServer() as Server).on('connection', (socket: Socket) => sockets.push(socket));
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      beforeClosing(() => {
        process.off('warning', warn);
        agent.destroy();
      });
      const counts: number[] = [];
      for (let nth = 1; nth <= 12; nth++) {
        const source = new PassThrough();
        const answering = app.call('/file', { agent });
        (await backend.reached(nth)).answer(bodyOf(source));
        source.end('all');
        expect((await answering).text).toBe('all');
        await isIdle(app);
        counts.push(sockets[0]?.listenerCount('close') ?? -1);
      }

      expect(sockets).toHaveLength(1);
      expect(new Set(counts).size).toBe(1);
      expect(warn).not.toHaveBeenCalled();
    },
  );

  it.each(KINDS)('that fails on the way is cut off, counts as failed, and is not repeated: %s', async (_, bodyOf) => {
    const app = await startFiles();
    const source = new PassThrough();
    const opening = app.open('/file');
    (await backend.reached(1)).answer(bodyOf(source));
    source.write('first ');
    const answer = await opening;
    await answer.until('first');

    source.destroy(new Error('disk gone'));

    expect(await answer.closed).toBe('cut off');
    await isIdle(app);
    expect(app.state()).toMatchObject({ total: 1, failures: 1 });
    expect(backend.calls).toHaveLength(1);
    expect(app.events).toEqual([]);
  });

  it.each(KINDS)('that fails before its first byte counts as failed: %s', async (_, bodyOf) => {
    const app = await startFiles();
    const source = new PassThrough();
    const answering = app.call('/file');
    (await backend.reached(1)).answer(bodyOf(source));
    await turns(3);
    source.destroy(new Error('disk gone'));

    const answer = await answering;

    expect(answer.status).toBeGreaterThanOrEqual(400);
    await isIdle(app);
    expect(app.state()).toMatchObject({ total: 1, failures: 1 });
  });

  it('that had failed before it was returned counts as failed', async () => {
    const app = await startFiles();
    const source = new PassThrough();
    source.on('error', () => {});
    source.destroy(new Error('disk gone'));
    await turns();
    const answering = app.call('/file');
    (await backend.reached(1)).answer(new StreamableFile(source));

    expect((await answering).status).toBeGreaterThanOrEqual(400);
    await isIdle(app);
    expect(app.state()).toMatchObject({ total: 1, failures: 1 });
  });

  it('of a file that does not exist counts as failed', async () => {
    const app = await startFiles();
    const answering = app.call('/file');
    (await backend.reached(1)).answer(new StreamableFile(createReadStream('no/such/file')));

    expect((await answering).status).toBeGreaterThanOrEqual(400);
    await isIdle(app);
    expect(app.state()).toMatchObject({ total: 1, failures: 1 });
  });

  it.each(KINDS)('gives its slot back when the client had left before it was returned: %s', async (_, bodyOf) => {
    const app = await startFiles();
    const source = new PassThrough();
    const request = send(`${app.url}/file`);
    const running = await backend.reached(1);
    request.destroy();
    await turns(50);

    running.answer(bodyOf(source));
    source.write('first ');

    await isIdle(app);
    expect(app.state()).toMatchObject({ total: 0 });
  });

  it.each(KINDS)('gives its slot back after a HEAD: %s', async (_, bodyOf) => {
    const app = await startFiles();
    const source = new PassThrough();
    const answering = app.call('/file', { method: 'HEAD' });
    (await backend.reached(1)).answer(bodyOf(source));
    source.write('first ');

    expect(await answering).toMatchObject({ status: 200, text: '' });
    await isIdle(app);
    expect(app.state()).toMatchObject({ failures: 0 });
    source.destroy();
  });

  it.each(KINDS)('gives its slot back at its end although the connection stays open: %s', async (_, bodyOf) => {
    const app = await startFiles();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    beforeClosing(() => agent.destroy());
    for (let nth = 1; nth <= 2; nth++) {
      const source = new PassThrough();
      const answering = app.call('/file', { agent });
      (await backend.reached(nth)).answer(bodyOf(source));
      source.end('all');

      expect((await answering).text).toBe('all');
      await isIdle(app);
    }
    expect(Object.keys(agent.freeSockets)).toHaveLength(1);
    expect(app.state()).toMatchObject({ total: 2, failures: 0 });
  });

  it('is sent by the attempt that succeeds, with its headers', async () => {
    const app = await startFiles();
    backend.script((call, nth) => {
      if (nth === 1) call.fail(new Error('down'));
      else call.answer(new StreamableFile(Buffer.from('a;b'), { type: 'text/csv', disposition: 'attachment' }));
    });

    const { status, text, headers } = await app.call('/file');

    expect({ status, text }).toEqual({ status: 200, text: 'a;b' });
    expect(headers['content-type']).toMatch(/^text\/csv/);
    expect(headers['content-disposition']).toBe('attachment');
    expect(headers['content-length']).toBe('3');
    await isIdle(app);
    expect(app.state()).toMatchObject({ total: 2, failures: 1 });
  });

  it('may come from a fallback, whose transfer holds no slot', async () => {
    const app = await startFiles();
    backend.script((call) => call.fail(new Error('down')));

    expect((await app.call('/stale')).text).toBe('stale');
    expect(app.resilience.bulkhead('stale').active).toBe(0);
  });

  it('may be the value of an Observable', async () => {
    const app = await startFiles();

    expect((await app.call('/observed')).text).toBe('observed');
    await until(() => app.resilience.bulkhead('observed').active === 0);
  });

  it('gives its slot back when it waits behind another answer on a connection that closes', async () => {
    const app = await startFiles();
    const { port, hostname } = new URL(app.url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => {});
    const head = 'HTTP/1.1\r\nHost: test\r\n\r\n';
    // Two requests at once: the answer to the second one has to wait for that to the first.
    socket.write(`GET /pending ${head}GET /file ${head}`);
    (await backend.reached(1)).answer(new StreamableFile(new PassThrough()));
    await turns(50);

    socket.destroy();

    await isIdle(app);
  });
});
