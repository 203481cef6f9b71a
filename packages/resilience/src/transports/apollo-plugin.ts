import { Injectable, SetMetadata } from '@nestjs/common';
import { Transports } from './transports.js';

/** As `@Plugin()` of `@nestjs/apollo` writes it, which an application need not have. Its drivers look for such providers. */
const PLUGIN = 'graphql:plugin';

/** Says in the answers of Apollo Server what resolvers have no means to say. */
@Injectable()
@SetMetadata(PLUGIN, true)
export class ApolloPlugin {
  constructor(private readonly transports: Transports) {}

  requestDidStart(): Promise<{ willSendResponse(answer: unknown): Promise<void> }> {
    const { transports } = this;

    return Promise.resolve({
      willSendResponse(answer) {
        transports.completeAnswer(answer);
        return Promise.resolve();
      },
    });
  }
}
