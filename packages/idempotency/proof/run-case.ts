import { planOf, type CasePlan, type Wanted } from './cases.js';
import { Clients, type Answer } from './clients.js';
import type { WallClock } from './clock-shift.js';
import { readEffects } from './effects.js';
import { stallsIn, storiesOf, type Evidence } from './evidence.js';
import { ServerFaults } from './faults.js';
import { Load } from './load.js';
import { moment } from './moment.js';
import { Random } from './random.js';
import { ServerProcess } from './server-process.js';
import { Outages } from './store/outages.js';
import { freePort, prepare, type Surroundings } from './surroundings.js';
import { violationsIn, type Violation } from './verdict.js';

export interface Report {
  readonly wanted: Wanted;
  readonly keys: number;
  readonly requests: number;
  readonly runs: number;
  readonly replays: number;
  readonly conflicts: number;
  readonly unavailable: number;
  readonly effects: number;
  readonly kills: number;
  readonly freezes: number;
  readonly outages: number;
  /** Since the machine was busy. */
  readonly stalls: number;
  readonly seconds: number;
  readonly violations: readonly Violation[];
  readonly evidence: Evidence;
}

/** Servers, clients and what happens to them: one case, from its set-up to its verdict. */
export async function runCase(wanted: Wanted): Promise<Report> {
  const plan = planOf(wanted);
  const surroundings = await prepare(wanted, plan);
  const servers: ServerProcess[] = [];
  try {
    return await new CaseRun({ wanted, plan, surroundings, servers }).run();
  } finally {
    await Promise.all(servers.map((server) => server.kill()));
    await surroundings.end();
  }
}

interface CaseParts {
  readonly wanted: Wanted;
  readonly plan: CasePlan;
  readonly surroundings: Surroundings;
  /** Those that were started, for whoever ends them. */
  readonly servers: ServerProcess[];
}

class CaseRun {
  private readonly random: Random;
  private readonly startedAt = moment();

  constructor(private readonly parts: CaseParts) {
    this.random = new Random(parts.wanted.seed);
  }

  async run(): Promise<Report> {
    const { plan, servers, surroundings } = this.parts;
    for (const [at, name] of ['a', 'b', 'c'].entries()) servers.push(await this.server(name, plan.clocks[at]));
    await Promise.all(servers.map((server) => server.start()));

    const clients = new Clients({ urls: servers.map(({ url }) => url), lockTtl: plan.lockTtl });
    const load = new Load(clients, this.random.fork(), surroundings.keyPrefix.slice(0, -1));
    const faults = new ServerFaults(servers, this.random.fork(), plan);
    const outages = this.outages();
    let isDisturbed = true;
    const disturbances = Promise.all([faults.run(), outages?.run(this.random.fork())]).finally(() => {
      isDisturbed = false;
    });
    await Promise.all([load.run(() => !isDisturbed && clients.requests >= plan.requests), disturbances]);
    await clients.end();
    await load.audit();
    await clients.end();

    return await this.report(clients, load, { ...faults.counts, outages: outages?.spans ?? [] });
  }

  private async server(name: string, clock: WallClock | undefined): Promise<ServerProcess> {
    const { wanted, plan, surroundings } = this.parts;
    const { folder, storeUrl, effectsUrl, keyPrefix } = surroundings;
    const { lockTtl, storeTimeout, joined } = plan;
    const { store, fault } = wanted;
    const seed = this.random.below(2 ** 31);
    const places = { port: await freePort(), store, storeUrl, keyPrefix, effectsUrl };

    return new ServerProcess({
      name,
      folder,
      clock,
      settings: { ...places, seed, lockTtl, storeTimeout, joined, fault },
    });
  }

  private outages(): Outages | undefined {
    const { plan, surroundings } = this.parts;
    if (surroundings.disturbed === undefined) return undefined;

    const { server, proxy } = surroundings.disturbed;
    return new Outages(server, proxy, { rounds: plan.outages, storeTimeout: plan.storeTimeout });
  }

  private async report(
    clients: Clients,
    load: Load,
    { kills, freezes, outages }: { kills: number; freezes: number; outages: Evidence['outages'] },
  ): Promise<Report> {
    const { wanted, plan, surroundings, servers } = this.parts;
    const { folder, effectsReadUrl } = surroundings;
    const effects = await readEffects(effectsReadUrl);
    const lives = servers.flatMap((server) => server.lives);
    const stalls = stallsIn(folder, lives, outages);
    const stories = storiesOf({ folder, charges: load.keys, asked: clients.asked, effects });
    const { lockTtl, joined } = plan;
    const asked = stories.flatMap((story) => story.asked);
    const byName = new Map(lives.map((life) => [life.name, life]));
    const evidence: Evidence = { stories, lives: byName, outages, stalls, lockTtl, joined };
    const count = (kind: Answer['kind']): number => asked.filter(({ answer }) => answer?.kind === kind).length;

    return {
      wanted,
      keys: stories.length,
      requests: clients.requests,
      runs: count('run'),
      replays: count('replay'),
      conflicts: count('conflict'),
      unavailable: count('unavailable'),
      effects: effects.length,
      kills,
      freezes,
      outages: outages.length,
      stalls: stalls.length,
      seconds: (moment() - this.startedAt) / 1_000,
      violations: violationsIn(evidence),
      evidence,
    };
  }
}
