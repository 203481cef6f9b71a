CREATE TABLE IF NOT EXISTS "idempotency_keys" (
  -- SHA-256 of the key, in hex: of one length, whatever the key is
  key_hash text COLLATE "C" PRIMARY KEY,
  -- for people to read, with JSON's escapes
  key text NOT NULL,
  fingerprint text NOT NULL,
  -- who holds the lock; NULL once the answer is there
  owner text,
  -- json, since jsonb refuses NUL characters in strings
  response json,
  -- milliseconds since 1970 on the database's clock
  expires_at bigint NOT NULL
);

-- for pruning
CREATE INDEX IF NOT EXISTS "idempotency_keys_expires_at_idx" ON "idempotency_keys" (expires_at);
