import { Client, type Pool, type PoolClient } from 'pg';

/** That something was done which cannot be undone. */
export interface Effect {
  readonly key: string;
  readonly run: string;
  /** The process that did it. */
  readonly life: string;
  /** When the request for it had arrived. */
  readonly arrived: number;
  readonly at: number;
}

const TABLE =
  'CREATE TABLE effects (key text NOT NULL, run text NOT NULL, life text NOT NULL, arrived float8 NOT NULL, at float8 NOT NULL)';

export async function insertEffect(connection: Pool | PoolClient, effect: Effect): Promise<void> {
  const { key, run, life, arrived, at } = effect;
  await connection.query('INSERT INTO effects VALUES ($1, $2, $3, $4, $5)', [key, run, life, arrived, at]);
}

export async function createEffects(url: string): Promise<void> {
  await onDatabase(url, (client) => client.query(TABLE));
}

export async function readEffects(url: string): Promise<readonly Effect[]> {
  const { rows } = await onDatabase(url, (client) => client.query<Effect>('SELECT * FROM effects ORDER BY at'));

  return rows;
}

export async function onDatabase<T>(url: string, use: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(url);
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}
