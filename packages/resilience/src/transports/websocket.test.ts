import type { ExecutionContext } from '@nestjs/common';
import { WebSocketGateway } from '@nestjs/websockets';
import { CircuitOpenError } from 'holdfast';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { describeHandler } from 'holdfast/nest';
import { WebSocketTransport } from './websocket.js';

const down = new CircuitOpenError('carrier', 1_001);

@WebSocketGateway()
class QuotesGateway {
  quotes(): void {}
}

function contextOf(values: unknown[], cls?: Function, method?: Function): ExecutionContext {
  const context = {
    getClass: () => cls,
    getHandler: () => method,
    getArgs: () => values,
    getArgByIndex: (index: number) => values[index],
  };

  return context as unknown as ExecutionContext;
}

describe('WebSockets', () => {
  let transport: WebSocketTransport;

  beforeEach(async () => {
    transport = new WebSocketTransport();
    const { kinds } = describeHandler(QuotesGateway, 'quotes', QuotesGateway.prototype.quotes);
    await transport.prepare([{ ...kinds, websocket: true }]);
  });

  it('are acknowledged also in a context that another package has made', () => {
    const acknowledge = vi.fn();
    const context = contextOf([{ connected: true }, {}, acknowledge]);
    expect(transport.exchangeOf(context)?.hasBegun()).toBe(false);

    expect(transport.answerFailure(transport.translate(down), context, false)).toEqual([]);
    expect(acknowledge).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ code: 'CIRCUIT_OPEN' }));
  });

  it.each([[undefined], [null], [{}], [{ readyState: 'open' }], ['socket']])(
    'show nothing of a socket that is of no known adapter (%j)',
    (socket) => {
      const context = contextOf([socket, {}], QuotesGateway, QuotesGateway.prototype.quotes);

      expect(transport.exchangeOf(context)).toBeUndefined();
    },
  );

  it('leave an error alone that they have no exception for', () => {
    const acknowledge = vi.fn();
    const unprepared = new WebSocketTransport();
    const error = unprepared.translate(down);

    expect(error).toBe(down);
    expect(unprepared.answerFailure(error, contextOf([{}, {}, acknowledge]), false)).toBeUndefined();
    expect(acknowledge).not.toHaveBeenCalled();
  });
});
