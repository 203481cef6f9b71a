import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RequestLogInterceptor } from '@nestjs/resilience';
import { AppModule } from '../app.module.js';
import type { Settings } from '../settings.js';
import { UpstreamStub } from '../stubs/upstream-stub.js';
import { UPSTREAMS, type Upstream, type Upstreams } from '../upstreams.js';

/** The page, and stubs in place of the services that there are no addresses for. */
export interface PageService {
  readonly url: string;
  readonly stubs: readonly UpstreamStub[];
  close(): Promise<void>;
}

export async function startPageService({ port, origins }: Settings, logger?: LoggerService): Promise<PageService> {
  const stubs: UpstreamStub[] = [];
  try {
    for (const [at, name] of UPSTREAMS.entries()) {
      if (origins[name] === undefined) stubs.push(await UpstreamStub.start(name, port === 0 ? 0 : port + 1 + at));
    }
    const app = await startPage({ ...urlsOf(stubs), ...origins } as Upstreams, { port, logger });
    const { port: open } = (app.getHttpServer() as Server).address() as AddressInfo;

    return { url: `http://127.0.0.1:${open}`, stubs, close: () => closeAll([app, ...stubs]) };
  } catch (error) {
    await closeAll(stubs);
    throw error;
  }
}

interface PageOptions {
  readonly port: number;
  readonly logger: LoggerService | undefined;
}

async function startPage(upstreams: Upstreams, { port, logger }: PageOptions) {
  const app = await NestFactory.create(AppModule.with(upstreams), {
    abortOnError: false,
    ...(logger !== undefined && { logger }),
  });
  // #region log
  app.useGlobalInterceptors(new RequestLogInterceptor());
  // #endregion
  try {
    await app.listen(port, '127.0.0.1');
  } catch (error) {
    await app.close();
    throw error;
  }

  return {
    getHttpServer: () => app.getHttpServer() as Server,
    close: async () => {
      (app.getHttpServer() as Server).closeAllConnections();
      await app.close();
    },
  };
}

function urlsOf(stubs: readonly UpstreamStub[]): Partial<Record<Upstream, string>> {
  return Object.fromEntries(stubs.map(({ name, url }) => [name, url]));
}

async function closeAll(parts: readonly { close(): Promise<void> }[]): Promise<void> {
  for (const part of parts) await part.close();
}
