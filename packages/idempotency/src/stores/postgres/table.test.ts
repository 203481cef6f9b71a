import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { idempotencySchema } from './table.js';

const FILE = createRequire(import.meta.url).resolve('@nestjs/idempotency/postgres/schema.sql');

describe('The schema of the keys', () => {
  it('is a file of the package and a function, which say the same', () => {
    expect(readFileSync(FILE, 'utf8')).toBe(idempotencySchema());
  });

  it('has the name of the table, and of its schema, quoted wherever it stands', () => {
    const text = idempotencySchema({ table: 'Order-Keys', schema: 'shop' });

    expect(text).toContain('CREATE TABLE IF NOT EXISTS "shop"."Order-Keys" (');
    expect(text).toContain(
      'CREATE INDEX IF NOT EXISTS "Order-Keys_expires_at_idx" ON "shop"."Order-Keys" (expires_at)',
    );
    expect(text).not.toContain('idempotency_keys');
  });

  it.each(['a', '_', 'idempotency_keys', 'a'.repeat(48), 'user'])('may have a table called "%s"', (table) => {
    expect(idempotencySchema({ table })).toContain(`"${table}"`);
  });

  it.each([
    ['', '""'],
    ['a'.repeat(49), `"${'a'.repeat(49)}"`],
    ['keys; DROP TABLE orders', '"keys; DROP TABLE orders"'],
    ['a"b', String.raw`"a\"b"`],
    ['a\0b', String.raw`"a\u0000b"`],
    ['1keys', '"1keys"'],
    ['schlüssel', '"schlüssel"'],
    ['$schema$', '"$schema$"'],
    [7, '7'],
    [null, 'null'],
  ])('refuses %j for a table', (table, shown) => {
    expect(() => idempotencySchema({ table: table as string })).toThrow(
      expect.objectContaining({
        name: 'TypeError',
        message: `table: expected a name of at most 48 letters (a to z), digits, _ and -, not beginning with a digit, got ${shown}.`,
      }),
    );
  });

  it('tells who has put the schema into the name of the table where it goes', () => {
    expect(() => idempotencySchema({ table: 'app.keys' })).toThrow(
      /got "app\.keys"\. The schema is an option of its own\.$/,
    );
  });

  it('has a limit for names of schemas too, which is that of PostgreSQL', () => {
    expect(idempotencySchema({ schema: 's'.repeat(63) })).toContain('s'.repeat(63));
    expect(() => idempotencySchema({ schema: 's'.repeat(64) })).toThrow(
      /^schema: expected a name of at most 63 letters/,
    );
    expect(() => idempotencySchema({ schema: '' })).toThrow(/^schema: /);
  });

  it('refuses what is no option', () => {
    expect(() => idempotencySchema({ tabel: 'x' } as object)).toThrow('tabel: unknown option');
    expect(() => idempotencySchema('keys' as never)).toThrow(/expected an options object, got a string/);
  });
});
