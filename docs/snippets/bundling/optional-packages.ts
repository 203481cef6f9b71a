// #region optional
import { createRequire } from 'node:module';

/** What Nest and this package load when an application has it, and do without when it has not. */
const OPTIONAL = [
  '@nestjs/microservices',
  '@nestjs/websockets',
  '@nestjs/platform-socket.io',
  'graphql',
  'class-transformer',
  'class-validator',
  '@grpc/grpc-js',
  '@grpc/proto-loader',
  '@nats-io/transport-node',
  'amqp-connection-manager',
  'amqplib',
  'ioredis',
  'kafkajs',
  'mqtt',
];

const { resolve } = createRequire(`${process.cwd()}/package.json`);

/** Those that are not installed. What is goes into the bundle. */
export const missing = OPTIONAL.filter((name) => {
  try {
    resolve(name);
    return false;
  } catch {
    return true;
  }
});

/** Also for a file of such a package, such as `@nestjs/websockets/socket-module.js`. */
export function isMissing(request = ''): boolean {
  return missing.some((name) => request === name || request.startsWith(`${name}/`));
}
// #endregion
