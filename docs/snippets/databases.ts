// #region statement-timeout
import { BudgetPolicy } from 'holdfast';

/** One connection to PostgreSQL: a client of `pg`, taken from its pool. */
export interface Connection {
  query(text: string, values?: readonly unknown[]): Promise<unknown>;
}

const report = new BudgetPolicy({ name: 'report', budget: '2s' });

export function findOrders(connection: Connection): Promise<unknown> {
  return report.execute(async ({ deadline }) => {
    // At most 1.5 s, and 50 ms before the deadline. Rounded up, since 0 means no limit to PostgreSQL.
    const limitMs = Math.max(1, Math.ceil(deadline?.allow('1.5s', '50ms') ?? 1_500));
    await connection.query(`SET statement_timeout = ${limitMs}`);

    return connection.query('SELECT * FROM orders');
  });
}
// #endregion
