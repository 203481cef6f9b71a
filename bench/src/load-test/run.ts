import { setTimeout as delay } from 'node:timers/promises';
import { seeded } from '../seeded.js';
import { Child } from './child.js';
import { moment } from './moment.js';
import { arrivalsOf, askOpenLoop, type Servers } from './open-loop.js';
import { CONDITIONS, schedule, type Phase } from './phases.js';
import type { Entry, Figures, Holdings, PhaseRecord, RunRecord, SeenCall } from './records.js';
import type { CallName } from './settings.js';

export interface Wanted {
  readonly seed: number;
  readonly seconds: number;
  /** What is wrong with the policies of the application. Default: nothing. */
  readonly fault?: string | undefined;
  readonly onPhase?: (phase: PhaseRecord) => void;
}

/** What a process makes once, such as code and connections, it makes in here. */
const WARM_UP: readonly Phase[] = CONDITIONS.map((condition) => ({ condition, ms: 600 }));

/** How long what has been given up may take to be gone; when it once was not, nobody waits for long again. */
const ENDING_MS = 5_000;
const SHORT_ENDING_MS = 200;
const LOOK_EVERY_MS = 20;

/** How long connections that nobody uses may take to be closed, and timers of theirs to be over. */
const CLOSING_MS = 10_000;

interface Processes {
  readonly dependency: Child;
  readonly application: Child;
  readonly servers: Servers;
}

/** Starts the processes, and puts the application under load while its dependency goes through its phases. */
export async function run({ seed, seconds, fault, onPhase }: Wanted): Promise<RunRecord> {
  const children: Child[] = [];
  const start = async <T>(name: string, ...args: string[]): Promise<{ child: Child; ready: T }> => {
    const started = await Child.start<T>(name, args);
    children.push(started.child);
    return started;
  };
  try {
    const dependency = await start<number>('dependency', String(seed));
    const faults = fault === undefined ? [] : [fault];
    const application = await start<string>('application', `http://127.0.0.1:${dependency.ready}`, ...faults);
    const bare = await start<string>('bare');
    const servers = { application: application.ready, bare: bare.ready };

    return await new Run({ dependency: dependency.child, application: application.child, servers }, seed).go(
      schedule(seed, seconds),
      onPhase,
    );
  } finally {
    for (const child of children) child.stop();
  }
}

class Run {
  private readonly random: () => number;
  private endingMs = ENDING_MS;

  constructor(
    private readonly processes: Processes,
    private readonly seed: number,
  ) {
    this.random = seeded(seed);
  }

  async go(plan: readonly Phase[], onPhase: Wanted['onPhase']): Promise<RunRecord> {
    const { application } = this.processes;
    for (const phase of WARM_UP) await this.phase(phase);
    await this.processes.dependency.ask('be', 'up');
    const before = await this.holdings();
    await application.ask('begin');

    const phases: PhaseRecord[] = [];
    for (const planned of plan) {
      const phase = await this.phase(planned);
      phases.push(phase);
      onPhase?.(phase);
    }
    const after = await this.holdings(before);
    const complaints = await application.ask<readonly string[]>('complaints');

    return { seed: this.seed, phases, before, after, complaints };
  }

  private async phase({ condition, ms }: Phase): Promise<PhaseRecord> {
    const { dependency, application, servers } = this.processes;
    await dependency.ask('be', condition);
    const from = moment();
    const { answers, bare } = await askOpenLoop(servers, arrivalsOf(ms, this.random));
    const to = moment();
    const held = await this.atRest();
    const entries = await application.ask<readonly Entry[]>('rest');
    const seen = await dependency.ask<readonly SeenCall[]>('take');

    return { condition, from, to, answers, bare, entries, seen, held };
  }

  /** Waits until nothing runs but what does not listen to its signal, which is counted. */
  private async atRest(): Promise<number> {
    const { dependency, application } = this.processes;
    const until = moment() + this.endingMs;
    for (;;) {
      const { reports = 0, ...others } = await dependency.ask<Partial<Record<CallName, number>>>('running');
      const { bulkheads } = await application.ask<Figures>('figures');
      const isFree = Object.values(bulkheads).every(({ active, queued }) => active === 0 && queued === 0);
      const isAtRest = Object.keys(others).length === 0 && isFree && bulkheads.reports.abandoned === reports;
      if (isAtRest) return reports;
      if (moment() > until) {
        this.endingMs = SHORT_ENDING_MS;
        return reports;
      }

      await delay(LOOK_EVERY_MS);
    }
  }

  /** When it holds no more than it did, or its time to let go is over. */
  private async holdings(wanted?: Holdings): Promise<Holdings> {
    const { dependency, application } = this.processes;
    const until = moment() + CLOSING_MS;
    for (;;) {
      await dependency.ask('hangUp');
      await delay(10 * LOOK_EVERY_MS);
      const holdings = await application.ask<Holdings>('holdings');
      const sockets = holdings.resources['TCPSocketWrap'] ?? 0;
      const isLess = wanted === undefined ? sockets === 0 : moreThan(wanted, holdings).length === 0;
      if (isLess || moment() > until) return holdings;
    }
  }
}

/** Kinds of resources of which there are more than there were. */
export function moreThan(before: Holdings, after: Holdings): readonly string[] {
  return Object.keys(after.resources).filter((kind) => (after.resources[kind] ?? 0) > (before.resources[kind] ?? 0));
}
