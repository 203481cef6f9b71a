export { RedisIdempotencyStore, type RedisIdempotencyStoreOptions } from './redis-store.js';
export type { IoredisClient, NodeRedisClient, NodeRedisScriptInput, RedisClient } from './redis-client.js';
