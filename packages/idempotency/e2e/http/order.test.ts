import {
  ClassSerializerInterceptor,
  Controller,
  Injectable,
  Module,
  Post,
  UseInterceptors,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { APP_INTERCEPTOR, Reflector } from '@nestjs/core';
import { Idempotent } from '@nestjs/idempotency';
import { Exclude } from 'class-transformer';
import { map, type Observable } from 'rxjs';
import { beforeEach, expect, it } from 'vitest';
import { onBothAdapters } from '../fixtures/http-application.js';

let runs: number;
let wrapped: number;
beforeEach(() => {
  runs = wrapped = 0;
});

class Account {
  readonly id = 1;

  @Exclude()
  readonly secret = 'secret';
}

@Injectable()
class Envelope implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    wrapped += 1;
    return next.handle().pipe(map((data: unknown) => ({ data, wrapped })));
  }
}

@Injectable()
class OwnSerializer extends ClassSerializerInterceptor {}

@Controller()
@Idempotent()
class AccountsController {
  @Post('plain')
  plain(): Account {
    runs += 1;
    return new Account();
  }

  @Post('wrapped')
  @UseInterceptors(Envelope)
  wrapped(): Account {
    runs += 1;
    return new Account();
  }

  @Post('serialized')
  @UseInterceptors(ClassSerializerInterceptor)
  serialized(): Account {
    runs += 1;
    return new Account();
  }
}

@Module({ providers: [{ provide: APP_INTERCEPTOR, useClass: Envelope }] })
class EnvelopeModule {}

@Module({ providers: [{ provide: APP_INTERCEPTOR, useClass: ClassSerializerInterceptor }] })
class SerializerModule {}

@Module({ providers: [{ provide: APP_INTERCEPTOR, useClass: OwnSerializer }] })
class OwnSerializerModule {}

const controllers = [AccountsController];

onBothAdapters('Interceptors', (start) => {
  it('of handlers run inside: what they made is kept, and they do not run for a replay', async () => {
    const { twice } = await start({ controllers });
    const [first, again] = await twice('/wrapped');

    expect([first.text, again.text]).toEqual([
      '{"data":{"id":1,"secret":"secret"},"wrapped":1}',
      '{"data":{"id":1,"secret":"secret"},"wrapped":1}',
    ]);
    expect([runs, wrapped]).toEqual([1, 1]);
  });

  it.each([
    ['whose module is imported later', { imports: [SerializerModule] }],
    [
      'that the application uses',
      {
        configure: (app: {
          useGlobalInterceptors(interceptor: NestInterceptor): unknown;
          get: (token: unknown) => never;
        }) => app.useGlobalInterceptors(new ClassSerializerInterceptor(app.get(Reflector))),
      },
    ],
  ])('that hide fields run inside: %s', async (_case, options) => {
    const { twice, log } = await start({ controllers, ...(options as object) });
    const [first, again] = await twice('/plain');

    expect([first.text, again.text, again.replayed]).toEqual(['{"id":1}', '{"id":1}', true]);
    expect(log.warnings).toEqual([]);
  });

  it('that hide fields of one handler run inside', async () => {
    const { twice } = await start({ controllers });
    const [first, again] = await twice('/serialized');

    expect([first.text, again.text]).toEqual(['{"id":1}', '{"id":1}']);
  });

  it('of a module that is imported before are named in a warning', async () => {
    const { twice, log } = await start({ controllers, before: [EnvelopeModule] });
    await twice('/plain');

    expect(log.warnings).toEqual([
      'These global interceptors stand in front of the idempotency interceptor: Envelope. They run again for each replay, ' +
        'and what they do to answers is not kept. Register it with app.useGlobalInterceptors(), or import its module after ' +
        'IdempotencyModule, so that what is kept is what it made.',
    ]);
    expect([runs, wrapped]).toEqual([1, 2]);
  });

  it.each([
    ['ClassSerializerInterceptor', SerializerModule],
    ['OwnSerializer', OwnSerializerModule],
  ])('%s, of a module that is imported before, fails the boot', async (name, module) => {
    await expect(start({ controllers, before: [module] })).rejects.toThrow(
      `${name} stands in front of the idempotency interceptor`,
    );
  });
});
