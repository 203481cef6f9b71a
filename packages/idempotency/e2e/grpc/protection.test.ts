import { Metadata } from '@grpc/grpc-js';
import { Controller } from '@nestjs/common';
import { GrpcMethod, GrpcStreamMethod, RpcException } from '@nestjs/microservices';
import { CircuitBreaker, ResilienceModule } from '@nestjs/resilience';
import { from, map, Observable } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Idempotent } from '../../src/index.js';
import { startGrpc } from '../fixtures/grpc.js';
import { cleanUp } from '../fixtures/microservice.js';

let runs: string[] = [];
let finish: () => void = () => {};

beforeEach(() => {
  runs = [];
});
afterEach(cleanUp);

interface Text {
  readonly text: string;
}

function declined(): RpcException {
  const metadata = new Metadata();
  metadata.set('reason', 'funds');
  metadata.set('raw-bin', Buffer.from([1, 2]));

  return new RpcException({ code: 9, message: 'declined', metadata });
}

@Controller()
@Idempotent()
class Calls {
  @GrpcMethod('Calls', 'Unary')
  @Idempotent({ required: true })
  unary({ text }: Text): Text | Observable<Text> {
    runs.push(text);
    if (text === 'declined') throw declined();
    if (text === 'unavailable') throw new RpcException({ code: 14, message: 'later' });
    if (text !== 'slow') return { text: `${text} ${runs.length}` };

    return new Observable((subscriber) => {
      finish = () => {
        subscriber.next({ text: 'slow' });
        subscriber.complete();
      };
    });
  }

  @GrpcMethod('Calls', 'ServerStream')
  serverStream({ text }: Text): Observable<Text> {
    runs.push(text);
    return from(text.split(' ')).pipe(map((word) => ({ text: word })));
  }

  @GrpcStreamMethod('Calls', 'Bidi')
  bidi(texts: Observable<Text>): Observable<Text> {
    runs.push('bidi');
    return texts;
  }
}

describe('A call of gRPC with a key', () => {
  it('runs its handler once, and gets the same answer again', async () => {
    const { call } = await startGrpc(Calls);
    const first = await call('unary', 'a', ['k']);

    expect(first).toMatchObject({ values: ['a 1'], code: 0 });
    expect(await call('unary', 'a', ['k'])).toEqual(first);
    expect(runs).toEqual(['a']);
  });

  it.each([
    ['without a key', [], 'a', 3, 'IDEMPOTENCY_KEY_REQUIRED', 400],
    ['with two', ['k', 'l'], 'a', 3, 'IDEMPOTENCY_KEY_INVALID', 400],
    ['with that of another request', ['k'], 'b', 9, 'IDEMPOTENCY_KEY_REUSED', 422],
  ])('is refused with a status that clients act upon, and the payload of all transports: %s', async (...given) => {
    const [, keys, text, code, name, statusCode] = given;
    const { call } = await startGrpc(Calls);
    await call('unary', 'a', ['k']);
    const answer = await call('unary', text, keys);

    expect(answer.code).toBe(code);
    expect(answer.payload).toEqual({
      status: 'error',
      code: name,
      statusCode,
      message: answer.details.replace(/^\d+ \w+: /, ''),
    });
    expect(runs).toEqual(['a']);
  });

  it('is aborted while it runs, which is worth trying again', async () => {
    const { call } = await startGrpc(Calls);
    const first = call('unary', 'slow', ['k']);
    await vi.waitFor(() => expect(runs).toEqual(['slow']));
    const second = await call('unary', 'slow', ['k']);

    expect(second.code).toBe(10);
    expect(second.payload).toMatchObject({ code: 'IDEMPOTENCY_KEY_IN_USE', statusCode: 409, retryAfter: 1 });
    finish();
    expect((await first).values).toEqual(['slow']);
  });

  it('gets a client error again, with its metadata', async () => {
    const { call } = await startGrpc(Calls);
    const first = await call('unary', 'declined', ['k']);
    const again = await call('unary', 'declined', ['k']);

    expect([first.code, again.code, again.details]).toEqual([9, 9, first.details]);
    expect(again.metadata?.get('reason')).toEqual(['funds']);
    expect(again.metadata?.get('raw-bin')).toEqual([Buffer.from([1, 2])]);
    expect(runs).toEqual(['declined']);
  });

  it('runs again after a status that passes', async () => {
    const { call } = await startGrpc(Calls);
    for (let n = 0; n < 2; n++) expect((await call('unary', 'unavailable', ['k'])).code).toBe(14);

    expect(runs).toHaveLength(2);
  });

  it('gets a stream of one message again, and runs again for more', async () => {
    const { call, log } = await startGrpc(Calls);
    for (let n = 0; n < 2; n++) expect((await call('serverStream', 'one', ['k'])).values).toEqual(['one']);
    for (let n = 0; n < 2; n++) expect((await call('serverStream', 'one two', ['l'])).values).toEqual(['one', 'two']);

    expect(runs).toEqual(['one', 'one two', 'one two']);
    expect(log.own.filter((line) => line.includes('Calls.serverStream() answered with a stream'))).toHaveLength(1);
  });

  it('is not protected when it is a stream itself, of which it is warned once', async () => {
    const { call, log } = await startGrpc(Calls);
    for (let n = 0; n < 2; n++) expect((await call('bidi', 'a', ['k'])).values).toEqual(['a']);

    expect(runs).toEqual(['bidi', 'bidi']);
    expect(log.own).toEqual([expect.stringContaining('a stream of requests cannot be compared with another')]);
  });

  it('gives its key back when a breaker refuses it', async () => {
    @Controller()
    class Guarded {
      @GrpcMethod('Calls', 'Unary')
      @Idempotent()
      @CircuitBreaker({ minimumCalls: 1 })
      unary({ text }: Text): Text {
        runs.push(text);
        throw new Error('broken');
      }
    }
    const { call } = await startGrpc(Guarded, [ResilienceModule.forRoot({})]);
    await call('unary', 'a', ['k']);

    for (let n = 0; n < 2; n++) expect(await call('unary', 'a', ['k'])).toMatchObject({ code: 14, payload: undefined });
    expect(runs).toEqual(['a']);
  });
});
