import { fetchQuotes, type Quote } from './carrier.js';
// #region usage
import { BulkheadPolicy } from 'holdfast';

export const exporting = new BulkheadPolicy({ name: 'exports', maxConcurrent: 2, maxQueue: 3, queueTimeout: '10s' });

export function exportQuotes(orderId: string): Promise<readonly Quote[]> {
  return exporting.execute(({ signal }) => fetchQuotes(orderId, signal));
}
// #endregion

// #region endless-wrong
export const endless = new BulkheadPolicy({ maxConcurrent: 2, maxQueue: Infinity });
// #endregion

// #region endless-right
export const short = new BulkheadPolicy({ maxConcurrent: 2, maxQueue: 4, queueTimeout: '2s' });
// #endregion

const readOrder = async (id: string): Promise<string> => id;

// #region nested-wrong
export const database = new BulkheadPolicy({ name: 'database', maxConcurrent: 1, maxQueue: 10 });
const readOne = (id: string): Promise<string> => database.execute(() => readOrder(id));

export function readBoth(): Promise<string[]> {
  return database.execute(async () => [await readOne('1001'), await readOne('1002')]);
}
// #endregion

// #region nested-right
export async function readEach(): Promise<string[]> {
  return [await readOne('1001'), await readOne('1002')];
}
// #endregion

import { createPolicy } from 'holdfast';

// #region late-wrong
export const late = createPolicy({
  timeout: '2s',
  bulkhead: { maxConcurrent: 2, maxQueue: 10, queueTimeout: '5s' },
});
// #endregion

// #region late-right
export const early = createPolicy({
  timeout: '2s',
  bulkhead: { maxConcurrent: 2, maxQueue: 4, queueTimeout: '500ms' },
});
// #endregion
