import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ResilienceModule, ResilienceService } from '@nestjs/resilience';
import {
  BulkheadPolicy,
  CircuitBreakerPolicy,
  FallbackPolicy,
  ResiliencePolicy,
  RetryPolicy,
  TimeoutPolicy,
} from 'holdfast';
import { answerAtOnce, type Call, type Sides } from '../sides.js';

function inTurn<T>(things: readonly T[], use: (thing: T) => PromiseLike<unknown>): Call {
  let at = 0;

  return () => {
    at = at + 1 === things.length ? 0 : at + 1;

    return use(things[at] as T);
  };
}

function breakersInTurn(count: number): Call {
  const breakers = Array.from({ length: count }, (_, at) => new CircuitBreakerPolicy({ name: `dependency-${at}` }));

  return inTurn(breakers, (breaker) => breaker.execute(answerAtOnce));
}

/** A call under each of so many breakers in turn, over one under a single breaker. */
export function oneOfBreakers(count: number): Sides {
  return { ours: breakersInTurn(count), other: breakersInTurn(1), bare: answerAtOnce };
}

/** A place for each call in so many objects of the same size as a breaker, none of which does anything. */
export function oneOfObjects(count: number): Sides {
  return { ours: objectsInTurn(count), other: objectsInTurn(1), bare: answerAtOnce };
}

interface Place {
  calls: number;
  /** As much as a breaker has. */
  readonly window: { next: number; readonly ring: Uint8Array };
}

function objectsInTurn(count: number): Call {
  const places = Array.from({ length: count }, (): Place => ({
    calls: 0,
    window: { next: 0, ring: new Uint8Array(20) },
  }));

  return inTurn(places, (place) => {
    const { window } = place;
    place.calls += 1;
    window.ring[window.next] = 1;
    window.next = window.next === 19 ? 0 : window.next + 1;

    return answerAtOnce();
  });
}

const LOOK_UPS = 1_000;

@Module({ imports: [ResilienceModule.forRoot()] })
class NamedBreakersModule {}

/** A look-up by name among so many breakers of an application, over one in an application that has one. */
export async function namesAmong(count: number): Promise<Sides> {
  return { ours: await lookUps(count), other: await lookUps(1), bare: answerAtOnce };
}

/** The same in a map that holds as many. */
export function keysAmong(count: number): Sides {
  return { ours: lookUpsIn(mapOf(count), count), other: lookUpsIn(mapOf(1), 1), bare: answerAtOnce };
}

function mapOf(count: number): (name: string) => unknown {
  const map = new Map(namesOf(count).map((name) => [name, { name }]));

  return (name) => map.get(name);
}

async function lookUps(count: number): Promise<Call> {
  const app = await NestFactory.createApplicationContext(NamedBreakersModule, { logger: false });
  const service = app.get(ResilienceService);
  for (const name of namesOf(count)) service.create({ circuitBreaker: { name } }, name);

  return lookUpsIn((name) => service.circuitBreaker(name), count);
}

const namesOf = (count: number): string[] => Array.from({ length: count }, (_, at) => `dependency-${at}`);

/** A thousand of them, of one name after the other. */
function lookUpsIn(find: (name: string) => unknown, count: number): Call {
  const names = namesOf(count);
  let at = 0;

  return async () => {
    let found: unknown;
    for (let look = 0; look < LOOK_UPS; look++) {
      at = at + 1 === count ? 0 : at + 1;
      found = find(names[at] as string);
    }

    return found;
  };
}

const hang = (): Promise<never> => new Promise(() => {});
const MANY_PENDING_MS = 3_600_000;
/** Node keeps the timers of each duration apart. */
const FEW_PENDING_MS = 3_599_000;

/** A call under a timeout while so many others wait for theirs, over one while a single other does. */
export function amongPending(count: number): Sides {
  return { ours: pendingUnder(MANY_PENDING_MS, count), other: pendingUnder(FEW_PENDING_MS, 1), bare: answerAtOnce };
}

function pendingUnder(timeoutMs: number, count: number): Call {
  const policy = new TimeoutPolicy(timeoutMs);
  for (let pending = 0; pending < count; pending++) void policy.execute(hang);

  return () => policy.execute(answerAtOnce);
}

const MAKERS: readonly (() => ResiliencePolicy)[] = [
  () => new FallbackPolicy(() => 0),
  () => new RetryPolicy({ attempts: 3 }),
  () => new CircuitBreakerPolicy({ openDuration: '30s' }),
  () => new TimeoutPolicy(2_000),
  () => new BulkheadPolicy({ maxConcurrent: 10 }),
];

/** One call under so many policies, over as many calls under one of them each. */
export function wrapOf(count: number): Sides {
  const policies = Array.from({ length: count }, (_, at) => (MAKERS[at % MAKERS.length] as () => ResiliencePolicy)());
  const wrapped = ResiliencePolicy.wrap(...policies);
  const apart = async (): Promise<void> => {
    for (const policy of policies) await policy.execute(answerAtOnce);
  };

  return { ours: () => wrapped.execute(answerAtOnce), other: apart, bare: answerAtOnce, pendingMs: [2_000] };
}
