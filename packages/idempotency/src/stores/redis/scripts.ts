import { createHash } from 'node:crypto';

/** A Lua script, which Redis runs as one step, between other commands. */
export interface RedisScript {
  readonly name: string;
  readonly source: string;
  /** By what the server knows it once it has seen it. */
  readonly sha1: string;
}

/**
 * Redis drops a key when the millisecond of its end has passed, and a lock or a record ends at that millisecond. All
 * times are of Redis's clock, no process's.
 */
const END = "if redis.call('PTTL', KEYS[1]) == 0 then redis.call('DEL', KEYS[1]) end";

function script(name: string, source: string): RedisScript {
  return { name, source, sha1: createHash('sha1').update(source).digest('hex') };
}

// Each script works on one key, a hash, so that it runs on every node of a cluster: `state` (in-flight, completed or
// free), `fp` (the fingerprint), `owner` (of a lock), `resp` (the answer of a record, as JSON), `call`: which call wrote
// the state, and `freed`: which call freed the key last. A client that loses its connection sends again what was not
// answered, though it may have been done: by `call` and `freed` it gets the same answer, rather than that somebody else
// has, or has had, the lock. To extend a lock twice does no harm.

/** For how long a key that was freed is kept, to know that: longer than anybody waits for an answer, and not for long. */
const REMEMBER_MS = 30_000;

/** ARGV: owner, fingerprint, milliseconds, call. */
export const ACQUIRE = script(
  'acquire',
  `${END}
local found = redis.call('HMGET', KEYS[1], 'state', 'fp', 'call')
if not found[1] or found[1] == 'free' then
  redis.call('HSET', KEYS[1], 'state', 'in-flight', 'fp', ARGV[2], 'owner', ARGV[1], 'call', ARGV[4])
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  return {'acquired'}
end
if found[1] == 'completed' then return {'completed', found[2], redis.call('HGET', KEYS[1], 'resp')} end
if found[3] == ARGV[4] then return {'acquired'} end
return {'in-flight', found[2]}
`,
);

/** ARGV: owner, answer, milliseconds, call. */
export const COMPLETE = script(
  'complete',
  `${END}
local found = redis.call('HMGET', KEYS[1], 'state', 'owner', 'call')
if found[1] == 'completed' and found[3] == ARGV[4] then return 'yes' end
if found[1] ~= 'in-flight' or found[2] ~= ARGV[1] then return 'no' end
redis.call('HSET', KEYS[1], 'state', 'completed', 'resp', ARGV[2], 'call', ARGV[4])
redis.call('HDEL', KEYS[1], 'owner', 'freed')
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 'yes'
`,
);

/** ARGV: owner, call. A server without room takes a write after one that frees. */
export const RELEASE = script(
  'release',
  `${END}
local found = redis.call('HMGET', KEYS[1], 'state', 'owner', 'freed')
if found[3] == ARGV[2] then return 'yes' end
if found[1] ~= 'in-flight' or found[2] ~= ARGV[1] then return 'no' end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'state', 'free', 'freed', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ${REMEMBER_MS})
return 'yes'
`,
);

/** ARGV: owner, milliseconds. */
export const EXTEND = script(
  'extend',
  `${END}
local found = redis.call('HMGET', KEYS[1], 'state', 'owner')
if found[1] ~= 'in-flight' or found[2] ~= ARGV[1] then return 'no' end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 'yes'
`,
);

/** Tells of the memory of the node that the key is on. `CONFIG` may not be asked by a script, nor on most hosted servers. */
export const MEMORY = script('memory', "return redis.call('INFO', 'memory')");
