import { fetchQuotes, type Quote } from './carrier.js';
// #region gateway
import { Resilience, Retry, Signal } from '@nestjs/resilience';
import { MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';

@WebSocketGateway()
@Resilience('carrier') // its timeout and its breaker; not its retry
export class QuotesGateway {
  @SubscribeMessage('quotes')
  getQuotes(@MessageBody() orderId: string, @Signal() signal: AbortSignal): Promise<readonly Quote[]> {
    return fetchQuotes(orderId, signal);
  }

  @SubscribeMessage('quotes.again')
  @Retry({ attempts: 3, backoff: { delay: '10ms' } }) // safe to run twice: the handler itself says so
  async getQuotesAgain(@MessageBody() orderId: string, @Signal() signal: AbortSignal) {
    return { event: 'quotes', data: await fetchQuotes(orderId, signal) };
  }
}
// #endregion
