import { BudgetPolicy } from 'holdfast';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { findOrders, type Connection } from './databases.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
afterEach(() => void vi.useRealTimers());

class RecordingConnection implements Connection {
  readonly texts: string[] = [];

  async query(text: string): Promise<unknown> {
    this.texts.push(text);
    return text;
  }
}

/** What is asked of the database when so much is left of a budget around. */
async function askedWithin(leftMs: number): Promise<readonly string[]> {
  const connection = new RecordingConnection();
  await new BudgetPolicy(leftMs).execute(() => findOrders(connection));

  return connection.texts;
}

describe('the page on deadlines shows, of databases', () => {
  it('a limit of the statement that is its own while there is time', async () => {
    const connection = new RecordingConnection();

    expect(await findOrders(connection)).toBe('SELECT * FROM orders');
    expect(connection.texts[0]).toBe('SET statement_timeout = 1500');
  });

  it.each([
    [800, 750],
    [50.5, 1],
    [50, 1],
    [20, 1],
  ])('one that ends before a deadline in %d ms, in whole milliseconds and never 0: %d', async (leftMs, limitMs) => {
    expect(await askedWithin(leftMs)).toEqual([`SET statement_timeout = ${limitMs}`, 'SELECT * FROM orders']);
  });
});
