import { Controller, HttpCode, Post, Res, StreamableFile } from '@nestjs/common';
import { Idempotent, IdempotencyService, IdempotencyStorage } from '@nestjs/idempotency';
import { expect, it } from 'vitest';
import { newKey, onBothAdapters } from '../fixtures/http-application.js';

interface AnyResponse {
  header(name: string, value: string): this;
}

@Controller()
class TransfersController {
  constructor(
    private readonly keys: IdempotencyService,
    private readonly storage: IdempotencyStorage,
  ) {}

  @Post('transfers')
  @Idempotent()
  async transfer(@Res({ passthrough: true }) response: AnyResponse): Promise<object> {
    response.header('location', '/transfers/7');
    await this.keys.current?.keep(this.storage.source, { id: 7 });

    return { id: 7 };
  }

  @Post('accepted')
  @HttpCode(202)
  @Idempotent()
  async accept(): Promise<object> {
    await this.keys.current?.keep(this.storage.source, { id: 7 });
    throw new Error('after the commit');
  }

  @Post('file')
  @Idempotent()
  async file(): Promise<unknown> {
    const file = new StreamableFile(Buffer.from('x'));
    await this.keys.current?.keep(this.storage.source, file);

    return file;
  }
}

const controllers = [TransfersController];

onBothAdapters('An answer that its handler keeps by itself', (start) => {
  it('is replayed with the status and the headers of the first', async () => {
    const { twice } = await start({ controllers });
    const [first, again] = await twice('/transfers');

    expect([first.status, first.headers.location, first.text]).toEqual([201, '/transfers/7', '{"id":7}']);
    expect([again.status, again.headers.location, again.text]).toEqual([201, '/transfers/7', '{"id":7}']);
    expect(again.replayed).toBe(true);
  });

  it('has its status also when the handler fails later, and in events', async () => {
    const { twice, events } = await start({ controllers });
    const [first, again] = await twice('/accepted');

    expect([first.status, again.status, again.text, again.replayed]).toEqual([500, 202, '{"id":7}', true]);
    expect(events.filter(({ type }) => type === 'stored')).toMatchObject([{ status: 202 }]);
  });

  it('is refused when it could not be replayed, before it is committed', async () => {
    const { call, log } = await start({ controllers });

    expect((await call('/file', newKey())).status).toBe(500);
    expect(log.errors).toEqual([expect.stringContaining('TransfersController.file() cannot keep its answer: it ')]);
  });
});
