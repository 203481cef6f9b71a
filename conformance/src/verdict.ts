import { AssertionError } from 'node:assert';
import { NotOffered, type Adapter } from './adapter.js';
import type { Guarantee } from './guarantee.js';
import { Strays } from './strays.js';
import { InstalledClock } from './virtual-clock.js';

export type Verdict =
  | { readonly kind: 'holds' }
  | { readonly kind: 'fails'; readonly because: string }
  | { readonly kind: 'not offered'; readonly because: string };

/** Turns of the event loop without a move of the clock, after which a scenario waits for what never comes. */
const PATIENCE_TURNS = 100_000;

/** Runs one scenario against one library, with a clock, and an eye on the process, of its own. */
export async function verdictOf(guarantee: Guarantee, adapter: Adapter): Promise<Verdict> {
  const missing = guarantee.needs.filter((feature) => adapter[feature] === undefined);
  if (missing.length > 0) return { kind: 'not offered', because: `no ${missing.join(', no ')}` };

  NotOffered.said = undefined;
  const clock = new InstalledClock();
  const strays = new Strays();
  try {
    await untilStuck(guarantee.check({ library: adapter as Required<Adapter>, clock }), clock);
    await clock.settle();
    refuse(strays.found);
    return unlessNotOffered({ kind: 'holds' });
  } catch (error) {
    return judged(error);
  } finally {
    strays.stop();
    clock.uninstall();
  }
}

function refuse(strays: readonly string[]): void {
  if (strays.length > 0) throw new AssertionError({ message: strays.join('; ') });
}

function judged(error: unknown): Verdict {
  const because = error instanceof AssertionError ? error.message : `threw ${String(error)}`;

  return unlessNotOffered({ kind: 'fails', because: firstLine(because) });
}

function unlessNotOffered(verdict: Verdict): Verdict {
  return NotOffered.said === undefined ? verdict : { kind: 'not offered', because: NotOffered.said.message };
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}

/** Counts turns and no time: on a busy machine the verdict is the same. */
async function untilStuck(check: Promise<void>, clock: InstalledClock): Promise<void> {
  let isOver = false;
  const watched = async (): Promise<void> => {
    let { moves } = clock;
    for (let idle = 0; !isOver && idle < PATIENCE_TURNS; idle += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      if (clock.moves !== moves) [moves, idle] = [clock.moves, 0];
    }
    if (!isOver) throw new AssertionError({ message: 'never settled, however much time passed' });
  };
  try {
    await Promise.race([check, watched()]);
  } finally {
    isOver = true;
  }
}
