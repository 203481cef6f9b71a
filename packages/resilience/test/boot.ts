import type { INestApplication, LoggerService, ModuleMetadata, Provider, Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { ResilienceModule } from '../src/index.js';
import type { ResilienceModuleOptions } from '../src/index.js';

/** What became of an application that was told to listen. */
export interface Boot {
  readonly app: INestApplication | undefined;
  /** Why it did not come up; `undefined` if it did. */
  readonly error: unknown;
  readonly listening: boolean;
  /** What the module warned of. */
  readonly warnings: readonly string[];
}

export interface Application {
  readonly options?: ResilienceModuleOptions;
  readonly controllers?: Type[];
  readonly providers?: Provider[];
  /** In place of one `ResilienceModule.forRoot(options)`. */
  readonly imports?: ModuleMetadata['imports'];
}

const booted: INestApplication[] = [];

/** Starts an application with the module, and tells how far it came. */
export async function boot({ options = {}, controllers = [], providers = [], imports }: Application): Promise<Boot> {
  const warnings: string[] = [];
  const logger = recordWarnings(warnings);
  let app: INestApplication | undefined;
  try {
    const builder = Test.createTestingModule({
      imports: imports ?? [ResilienceModule.forRoot(options)],
      controllers,
      providers,
    });
    app = (await builder.setLogger(logger).compile()).createNestApplication({ logger });
    booted.push(app);
    await app.listen(0, '127.0.0.1');
  } catch (error) {
    return { app, error, warnings, listening: isListening(app) };
  }

  return { app, error: undefined, warnings, listening: isListening(app) };
}

function isListening(app: INestApplication | undefined): boolean {
  return app !== undefined && (app.getHttpServer() as { readonly listening: boolean }).listening;
}

/** Ends what was started since the last time. */
export async function closeAll(): Promise<void> {
  await Promise.all(booted.splice(0).map((app) => app.close()));
}

function recordWarnings(warnings: string[]): LoggerService {
  const ignore = (): void => {};

  return {
    log: ignore,
    error: ignore,
    debug: ignore,
    verbose: ignore,
    warn: (message: unknown, context?: unknown) => {
      if (context === 'ResilienceModule') warnings.push(String(message));
    },
  };
}
