import { AssertionError } from 'node:assert';
import { NotOffered, type Adapter } from './adapter.js';
import type { Guarantee } from './guarantee.js';
import { InstalledClock } from './virtual-clock.js';

export type Verdict =
  | { readonly kind: 'holds' }
  | { readonly kind: 'fails'; readonly because: string }
  | { readonly kind: 'not offered'; readonly because: string };

/** Of real time: a scenario waits for nothing that a virtual clock does not bring. */
const PATIENCE_MS = 5_000;

const realTimeout = setTimeout;
const realClear = clearTimeout;

/** Runs one scenario against one library, with a clock, and an eye on the process, of its own. */
export async function verdictOf(guarantee: Guarantee, adapter: Adapter): Promise<Verdict> {
  const missing = guarantee.needs.filter((feature) => adapter[feature] === undefined);
  if (missing.length > 0) return { kind: 'not offered', because: `no ${missing.join(', no ')}` };

  NotOffered.said = undefined;
  const clock = new InstalledClock();
  const strays = new Strays();
  try {
    await inTime(guarantee.check({ library: adapter as Required<Adapter>, clock }));
    await clock.settle();
    strays.refuse();
    return { kind: 'holds' };
  } catch (error) {
    return judged(error);
  } finally {
    strays.stop();
    clock.uninstall();
  }
}

function judged(error: unknown): Verdict {
  if (NotOffered.said !== undefined) return { kind: 'not offered', because: NotOffered.said.message };
  if (error instanceof AssertionError) return { kind: 'fails', because: firstLine(error.message) };

  return { kind: 'fails', because: `threw ${firstLine(String(error))}` };
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}

async function inTime(check: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = realTimeout(
      () => reject(new AssertionError({ message: 'never settled, however much time passed' })),
      PATIENCE_MS,
    );
  });
  try {
    await Promise.race([check, late]);
  } finally {
    realClear(timer);
  }
}

/** What a scenario lets out into the process: rejections that nobody handles, warnings. */
class Strays {
  private readonly found: string[] = [];
  private readonly onRejection = (reason: unknown): void =>
    void this.found.push(`unhandled rejection: ${String(reason)}`);
  private readonly onException = (error: unknown): void => void this.found.push(`uncaught exception: ${String(error)}`);
  /** Node's own, which prints. */
  private readonly printers = process.listeners('warning');
  private readonly onWarning = (warning: Error): void => {
    if (warning.name === 'MaxListenersExceededWarning') this.found.push(`${warning.name}: ${warning.message}`);
    else for (const print of this.printers) print(warning);
  };

  constructor() {
    process.on('unhandledRejection', this.onRejection);
    process.on('uncaughtException', this.onException);
    process.removeAllListeners('warning');
    process.on('warning', this.onWarning);
  }

  refuse(): void {
    if (this.found.length > 0) throw new AssertionError({ message: this.found.join('; ') });
  }

  stop(): void {
    process.off('unhandledRejection', this.onRejection);
    process.off('uncaughtException', this.onException);
    process.off('warning', this.onWarning);
    for (const print of this.printers) process.on('warning', print);
  }
}
