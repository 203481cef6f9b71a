import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { ResilienceEvents, ResilienceService } from '@nestjs/resilience';
import { aliveBytes } from '../load/alive-bytes.js';
import { ApplicationModule } from './application-module.js';
import { Calls } from './calls.js';
import { plant } from './faults.js';
import { Journal } from './journal.js';
import { serveParent } from './parent.js';
import type { Figures, Holdings } from './records.js';
import { BREAKER_NAMES, BULKHEAD_NAMES } from './settings.js';

/** The application under load, as a process: where its dependency is, and which fault it has. */

const [, , dependencyUrl = '', fault] = process.argv;
const complaints: string[] = [];
process.on('warning', (warning) => complaints.push(`warning: ${warning.message}`));
process.on('unhandledRejection', (reason) => complaints.push(`unhandled rejection: ${String(reason)}`));

if (fault !== undefined) plant(fault);
const journal = new Journal();
const app = await NestFactory.create<NestFastifyApplication>(
  ApplicationModule.with(new Calls(dependencyUrl, journal)),
  new FastifyAdapter(),
  { logger: false },
);
await app.listen(0, '127.0.0.1');
const resilience = app.get(ResilienceService);
// Those of presets that nobody has used are not there before.
for (const name of BREAKER_NAMES) resilience.circuitBreaker(name);

app.get(ResilienceEvents).events$.subscribe((event) => {
  const isChange = 'to' in event;
  journal.event(event, isChange ? statsOf(event.policy) : undefined);
});
journal.watch();

function statsOf(name: string): { total: number; failures: number } {
  const { total, failures } = resilience.circuitBreaker(name).stats;

  return { total, failures };
}

function figures(): Figures {
  const breakers = BREAKER_NAMES.map((name) => [name, statsOf(name)]);
  const bulkheads = BULKHEAD_NAMES.map((name) => {
    const { active, queued, abandoned } = resilience.bulkhead(name);
    return [name, { active, queued, abandoned }];
  });

  return { breakers: Object.fromEntries(breakers), bulkheads: Object.fromEntries(bulkheads) };
}

async function holdings(): Promise<Holdings> {
  const heapBytes = await aliveBytes();
  const resources: Record<string, number> = {};
  for (const name of process.getActiveResourcesInfo()) resources[name] = (resources[name] ?? 0) + 1;

  return { heapBytes, resources };
}

serveParent(await app.getUrl(), {
  /** Forgets what it has served so far. */
  begin: () => {
    for (const name of BREAKER_NAMES) resilience.circuitBreaker(name).reset();
    journal.take();
  },
  figures,
  rest: () => {
    journal.rest(figures());
    return journal.take();
  },
  holdings,
  complaints: () => complaints,
});
