import { strictEqual } from 'node:assert';
import { createHash } from 'node:crypto';
import type { IdempotencyStoredPayload } from '../store.js';
import { answerOf, type Trial } from './trial.js';

const LONG = 'x'.repeat(4_000);

/** Each of them is another key than all the others. */
const NEAR_KEYS: readonly string[] = [
  ...['key', 'Key', 'KEY', ' key', 'key ', 'key\t', 'ke', 'keyy', 'key\0', 'key\0\0', '\0key'],
  ...['key:a', 'key%3Aa', 'key%253Aa', 'key/a', 'key\\a', 'key*', 'key?', 'key_', 'key%', "key'", 'key"', 'key;--'],
  ...['{key}', '{key}a', '{}key', 'key{', 'key}', '[key]', '$key', '0', '00', '-0', '1', '1.0', 'null', 'undefined'],
  // The same letter, composed and not; letters that other rules of comparison take for the same.
  ...['\u00e9', 'e\u0301', 'e', 'ß', 'ss', 'ı', 'i', 'İ', 'I', '\u200bkey', '\u{1f600}', '\u{1f601}', '日本', '日木'],
  ...['__proto__', 'constructor', 'toString', 'hasOwnProperty'],
  ...[LONG, `${LONG}x`, `${LONG.slice(1)}y`, `y${LONG.slice(1)}`],
  ...[63, 64, 127, 128, 191, 192, 255, 256, 511, 512, 1_024, 2_048].map((length) => 'k'.repeat(length)),
];

/** Keys that a store may take for something of the language, when nothing stands before them. */
const BARE_KEYS: readonly string[] = ['__proto__', 'constructor', 'valueOf'];

const OWN_PROTOTYPE: unknown = JSON.parse('{"__proto__":{"polluted":true},"constructor":1}');

const BODIES: Readonly<Record<string, unknown>> = {
  nothing: null,
  'an empty text': '',
  'NUL and other control characters': 'a\0b\u0001\u001f\u007f\u2028\u2029',
  'characters beyond the first plane': '\u{1f600} 👩‍👩‍👧 日本 \u{10ffff}',
  'half of a character': 'a\ud83d',
  'text that looks escaped': String.raw`\u0000 \\u0000 \n "quoted" %00 &amp;`,
  'text of 100 kB': '0123456789abcdef'.repeat(6_400),
  'numbers at their ends': [0, -1, 0.1, 1e21, 5e-324, Number.MAX_SAFE_INTEGER, Number.MAX_VALUE],
  'values of all kinds': { yes: true, no: false, none: null, list: [], object: {}, nested: [[{ a: [1, 'a', null] }]] },
  'fields in an order of their own': { z: 1, a: 2, 10: 'ten', M: { z: 1, a: 2 } },
  'a field named __proto__': OWN_PROTOTYPE,
  'a list of 10,000': Array.from({ length: 10_000 }, (_, index) => index),
};

const ANSWERS: Readonly<Record<string, IdempotencyStoredPayload>> = {
  'no body': { status: 204, headers: {} },
  'headers of one and of several values': {
    status: 200,
    headers: { location: '/a?b=c&d=%20', 'x-list': ['a', 'b, c', ''], 'x-empty': '', __proto__header: '\u00e9' },
    body: {},
  },
  'an error': { status: 404, headers: {}, body: { statusCode: 404, message: 'No such order' }, error: 'http' },
  'a seal of 50 kB': { sealed: `v1.abcdefgh.${'A'.repeat(16)}.${'-_aZ'.repeat(12_500)}.${'B'.repeat(22)}` },
  ...Object.fromEntries(
    Object.entries(BODIES).map(([name, body]) => [`a body: ${name}`, { status: 200, headers: {}, body }]),
  ),
};

/** What is kept apart and what stays the same. */
export const CONTENT_CASES = {
  'keeps keys apart that are nearly the same': async (trial: Trial): Promise<void> => {
    const callers = NEAR_KEYS.map((name) => trial.caller(trial.key(name)));
    for (const caller of callers) await caller.takes(`of the free key ${shown(caller.key)}`);
    for (const caller of callers) {
      await trial.caller(caller.key).findsLockOf(caller, `of the held key ${shown(caller.key)}`);
    }
    for (const caller of callers) await caller.completes(answerOf(hashOf(caller.key)), 'by the owner');
    for (const caller of callers) {
      await trial
        .caller(caller.key)
        .findsRecordOf(caller, answerOf(hashOf(caller.key)), 'after all others are completed');
    }
    for (const key of BARE_KEYS) await useAndFree(trial, key);
  },

  'gives back an equal copy of the answer': async (trial: Trial): Promise<void> => {
    for (const [name, answer] of Object.entries(ANSWERS)) {
      const author = trial.caller(trial.key());
      await author.takes('of a free key');
      await author.completes(answer, `with ${name}`);
      const reader = trial.caller(author.key);
      await reader.findsRecordOf(author, answer, `after complete() with ${name}`);
      const { response } = (await reader.acquire()) as { readonly response?: unknown };
      strictEqual(JSON.stringify(response), JSON.stringify(answer), `An answer must keep its order: ${name}`);
    }
    await keepsItsCopy(trial);
  },
} as const;

/** The key belongs to every trial of this store: it is given back. */
async function useAndFree(trial: Trial, key: string): Promise<void> {
  for (const round of ['a free key', 'a key that was released']) {
    const caller = trial.caller(key);
    await caller.takes(`of ${round}, ${shown(key)},`, trial.lockTime * 10);
    await trial.caller(key).findsLockOf(caller, `of the held key ${shown(key)}`);
    await caller.releases(`of ${shown(key)}`);
  }
}

interface Changeable {
  status: number;
  headers: { list: string[] };
  body: { items: { name: string }[] };
}

const changeable = (): Changeable => ({ status: 200, headers: { list: ['a'] }, body: { items: [{ name: 'a' }] } });

function change(answer: Changeable): void {
  answer.status = 500;
  answer.headers.list.push('changed');
  answer.body.items[0]!.name = 'changed';
}

/** Whoever changes what he has given or got changes nothing for others. */
async function keepsItsCopy(trial: Trial): Promise<void> {
  const author = trial.caller(trial.key());
  const given = changeable();
  await author.takes('of a free key');
  await author.completes(given, 'by the owner');
  change(given);

  const reader = trial.caller(author.key);
  await reader.findsRecordOf(author, changeable(), 'after the author has changed what he gave');
  const found = await reader.acquire();
  change((found as unknown as { readonly response: Changeable }).response);
  await reader.findsRecordOf(author, changeable(), 'after a reader has changed what he got');
}

function shown(key: string): string {
  return JSON.stringify(key.length > 100 ? `${key.slice(0, 60)}… (${key.length} characters)` : key);
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
