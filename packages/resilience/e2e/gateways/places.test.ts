import { Injectable, Module, Scope } from '@nestjs/common';
import { CircuitBreaker, ResilienceService, Timeout, type ResiliencePolicy } from '@nestjs/resilience';
import { ConnectedSocket, SubscribeMessage, WebSocketGateway, WebSocketServer } from '@nestjs/websockets';
import type { Server, Socket } from 'socket.io';
import { beforeEach, expect, it } from 'vitest';
import { freePort } from '../../../../tools/services/free-port.js';
import { Backend, DependencyError, until } from '../fixtures/backend.js';
import { BOTH, onSockets } from '../fixtures/gateway.js';

let backend: Backend;

beforeEach(() => {
  backend = new Backend();
  backend.script((call) => call.fail(new DependencyError(503)));
});

const BREAKER = { name: 'carrier', minimumCalls: 1, openDuration: '30s' } as const;
const OPEN = { event: 'exception', data: { code: 'CIRCUIT_OPEN', statusCode: 503, retryAfter: 30 } };
const FAILED = { event: 'exception', data: { message: 'Internal server error' } };

@WebSocketGateway()
class QuotesGateway {
  @SubscribeMessage('quotes')
  @CircuitBreaker(BREAKER)
  @Timeout('1s')
  quotes() {
    return backend.call();
  }
}

@Module({ providers: [QuotesGateway] })
class QuotesModule {}

/** One that asks the carrier through a policy of its own, for gateways without any decorator. */
@Injectable()
class QuotesService {
  private readonly policy: ResiliencePolicy;

  constructor(resilience: ResilienceService) {
    this.policy = resilience.create({ circuitBreaker: BREAKER, timeout: '1s' }, 'carrier');
  }

  quotes(): Promise<unknown> {
    return this.policy.execute(() => backend.call());
  }
}

@WebSocketGateway()
class UndecoratedGateway {
  constructor(private readonly service: QuotesService) {}

  @SubscribeMessage('quotes')
  quotes() {
    return this.service.quotes();
  }
}

@Injectable({ scope: Scope.REQUEST })
class PerClient {}

@WebSocketGateway()
class ScopedGateway {
  constructor(readonly client: PerClient) {}

  @SubscribeMessage('quotes')
  @CircuitBreaker(BREAKER)
  @Timeout('1s')
  quotes() {
    return backend.call();
  }
}

@WebSocketGateway({ namespace: 'warehouse' })
class WarehouseGateway {
  @WebSocketServer()
  private readonly server!: Server;

  @SubscribeMessage('join')
  async join(@ConnectedSocket() socket: Socket) {
    await socket.join('packers');
    return { event: 'joined', data: null };
  }

  @SubscribeMessage('quotes')
  @CircuitBreaker(BREAKER)
  @Timeout('1s')
  quotes() {
    this.server.to('packers').emit('asked', 'quotes');
    return backend.call();
  }
}

onSockets(BOTH, 'Policies protect a gateway', (start) => {
  it.each([
    ['of another module', { providers: [], imports: [QuotesModule] }],
    ['without decorators, whose service has them', { providers: [UndecoratedGateway, QuotesService] }],
    ['that lives as long as a connection', { providers: [ScopedGateway, PerClient] }],
  ])('%s', async (_where, definition) => {
    const { connect } = await start(definition);
    const [first, second] = [await connect(), await connect()];
    first.send('quotes');
    expect(await first.next()).toMatchObject(FAILED);
    second.send('quotes');

    expect(await second.next()).toMatchObject(OPEN);
    expect(backend.calls).toHaveLength(1);
  });

  it('on a port of its own', async () => {
    const port = await freePort();
    @WebSocketGateway(port)
    class OwnPortGateway extends QuotesGateway {}

    const { connect } = await start({ providers: [OwnPortGateway] });
    const client = await connect({ port });
    client.send('quotes');
    expect(await client.next()).toMatchObject(FAILED);
    client.send('quotes');

    expect(await client.next()).toMatchObject(OPEN);
  });
});

onSockets(['Socket.IO'], 'Policies protect a gateway', (start) => {
  it('of a namespace, and leave its rooms alone: only who has asked gets the failure', async () => {
    const { connect } = await start({ providers: [WarehouseGateway] });
    const to = { namespace: 'warehouse' };
    const [packer, asking] = [await connect(to), await connect(to)];
    packer.send('join');
    expect(await packer.next()).toMatchObject({ event: 'joined' });
    asking.send('quotes');
    expect(await asking.next()).toMatchObject(FAILED);
    asking.send('quotes');
    expect(await asking.next()).toMatchObject(OPEN);
    packer.send('join');

    await until(() => packer.received.length === 3);
    expect(packer.received.map(({ event }) => event)).toEqual(['joined', 'asked', 'joined']);
  });
});
