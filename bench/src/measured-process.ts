import { arePromiseHooksOn, hasPromiseHooks, turnOnPromiseHooks } from './promise-hooks.js';
import { ROWS } from './rows.js';
import { bytesOfCalls, timeCalls, timeRefusals } from './slices.js';
import type { SideName, Sides } from './sides.js';

/** What the measuring parent asks of this process: one slice of one side. */
export interface SliceRequest {
  readonly side: SideName;
  readonly calls: number;
  readonly unit: 'ns' | 'bytes' | 'value';
}

export type SliceReply =
  | { readonly kind: 'ready'; readonly node: string }
  | { readonly kind: 'slice'; readonly value: number }
  | { readonly kind: 'failed'; readonly message: string };

/** In use between this file and its parent: the row's id, and whether this process turns promise hooks on. */
const [rowId, hooks] = process.argv.slice(2);

async function open(): Promise<Sides> {
  const row = ROWS.find(({ id }) => id === rowId);
  if (row === undefined) throw new Error(`No such row: ${rowId}`);

  if (hooks === 'on') turnOnPromiseHooks();
  const sides = await row.sides();
  for (const duration of sides.pendingMs ?? []) setInterval(() => {}, duration);

  return sides;
}

async function measure(sides: Sides, { side, calls, unit }: SliceRequest): Promise<number> {
  const call = sides[side];
  if (unit === 'value') return Number(await call());
  if (unit === 'bytes') return bytesOfCalls(call, calls);

  const refuses = sides.refuses === true && side !== 'bare';
  const value = await (refuses ? timeRefusals : timeCalls)(call, calls);
  if (hasPromiseHooks && (await arePromiseHooksOn()) !== (hooks === 'on')) {
    throw new Error(`Promise hooks should be ${hooks} and are not: the two sides are not comparable`);
  }

  return value;
}

function reply(message: SliceReply): void {
  process.send?.(message);
}

function fail(error: unknown): void {
  reply({ kind: 'failed', message: error instanceof Error ? (error.stack ?? error.message) : String(error) });
}

async function serve(): Promise<void> {
  const sides = await open();
  process.on('message', (request: SliceRequest) => {
    measure(sides, request).then((value) => reply({ kind: 'slice', value }), fail);
  });
  reply({ kind: 'ready', node: process.versions.node });
}

process.on('disconnect', () => process.exit());
serve().catch(fail);
