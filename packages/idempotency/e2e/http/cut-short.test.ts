import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { BadRequestException, Controller, Post, Req, UploadedFile, UseInterceptors } from '@nestjs/common';
import { FileInterceptor } from '@nestjs/platform-express';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { Idempotent } from '@nestjs/idempotency';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  closeAfterEach,
  newKey,
  onBothAdapters,
  startApplication,
  type Application,
  type ApplicationOptions,
} from '../fixtures/http-application.js';
import { newGate } from '../fixtures/gate.js';

let began: () => void;
let beginning: Promise<void>;
let left: Promise<void>;
beforeEach(() => {
  const gate = newGate();
  beginning = gate.opened;
  began = gate.open;
});

/** Reads what comes, and calls what breaks off a bad request, as `raw-body` and body parsers do. */
function lengthOf(body: Readable): Promise<number> {
  return new Promise((resolve, reject) => {
    let length = 0;
    body.on('data', (chunk: Buffer) => {
      length += chunk.length;
      began();
    });
    body.once('end', () => resolve(length));
    body.once('aborted', () => reject(new BadRequestException('request aborted')));
  });
}

@Controller()
class Uploads {
  @Post('raw')
  @Idempotent({ fingerprint: () => undefined })
  async raw(@Req() request: Readable & { readonly raw?: Readable }): Promise<{ length: number }> {
    return { length: await lengthOf(request.raw ?? request) };
  }

  @Post('refused')
  @Idempotent({ fingerprint: () => undefined })
  async refused(): Promise<never> {
    began();
    await left;
    throw new BadRequestException('no uploads today');
  }
}

const OCTETS = { 'content-type': 'application/octet-stream' };
const options: ApplicationOptions = {
  controllers: [Uploads],
  bodyParser: false,
  configure: (app) => {
    const { instance } = app.getHttpAdapter() as unknown as { readonly instance: Partial<FastifyAdapter['instance']> };
    // The body is left to the handler.
    instance?.addContentTypeParser?.('application/octet-stream', (_request, _payload, done) => done(null));
  },
};

interface Sent {
  readonly path: string;
  readonly key: string;
  readonly type?: string;
  /** Of the body. */
  readonly length: number;
  /** What of it comes. */
  readonly part: string;
}

async function send({ url }: Application, { path, key, type, length, part }: Sent): Promise<Socket> {
  const { hostname, port, host } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  const head = [`POST ${path} HTTP/1.1`, `Host: ${host}`, `Idempotency-Key: ${key}`, `Content-Length: ${length}`];
  socket.write([...head, `Content-Type: ${type ?? OCTETS['content-type']}`, '', part].join('\r\n'));

  return socket;
}

const typesOf = ({ events }: Application): string[] => events.map(({ type }) => type);

onBothAdapters('A request whose client leaves before all of it has come', (start) => {
  it('is no bad request for the repetition, which is whole and runs', async () => {
    const application = await start(options);
    const key = newKey();
    const socket = await send(application, { path: '/raw', key, length: 8, part: 'half' });
    await beginning;
    socket.destroy();
    await expect.poll(() => typesOf(application)).toEqual(['executed', 'released']);

    const again = await application.call('/raw', key, { headers: OCTETS, body: 'both halves' });
    expect([again.status, again.body, again.replayed]).toEqual([201, { length: 11 }, false]);
  });
});

onBothAdapters('A request that came whole', (start) => {
  it('is as bad as its handler says, also when its client has left and nobody has read it', async () => {
    const application = await start(options);
    const key = newKey();
    const gate = newGate();
    left = gate.opened;
    const socket = await send(application, { path: '/refused', key, length: 6, part: 'unread' });
    await beginning;
    socket.destroy();
    await once(socket, 'close');
    // The server hears of it a little later than the client.
    setTimeout(gate.open, 50);
    await expect.poll(() => typesOf(application)).toEqual(['executed', 'stored']);

    const again = await application.call('/refused', key, { headers: OCTETS, body: 'unread' });
    expect([again.status, again.replayed]).toEqual([400, true]);
  });
});

describe('An upload that Multer reads', () => {
  closeAfterEach();

  it('can be sent again when it broke off', async () => {
    @Controller()
    class Files {
      @Post('raw')
      @Idempotent({ fingerprint: () => undefined })
      @UseInterceptors(FileInterceptor('file'))
      put(@UploadedFile() file: { readonly size: number }): { size: number } {
        return { size: file.size };
      }
    }
    const application = await startApplication('express', { controllers: [Files] });
    const key = newKey();
    const part = 'Content-Disposition: form-data; name="file"; filename="a.txt"\r\nContent-Type: text/plain';
    const body = `--b\r\n${part}\r\n\r\nall of it\r\n--b--\r\n`;
    const type = 'multipart/form-data; boundary=b';
    const socket = await send(application, { path: '/raw', key, type, length: body.length, part: body.slice(0, -12) });
    // Time for the first half to be read.
    setTimeout(() => socket.destroy(), 50);
    await expect.poll(() => typesOf(application)).toEqual(['executed', 'released']);

    const again = await application.call('/raw', key, { headers: { 'content-type': type }, body });
    expect([again.status, again.body]).toEqual([201, { size: 9 }]);
    expect(application.log.errors).toEqual(['Error: Request aborted']);
  });
});
