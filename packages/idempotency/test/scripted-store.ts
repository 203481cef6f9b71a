import type { IdempotencyStore } from '../src/store.js';
import { InMemoryIdempotencyStore } from '../src/stores/memory-store.js';

export type Method = keyof IdempotencyStore;

/** What becomes of one call. Without anything it is done at once and answered. */
export interface Step {
  /** Milliseconds until it is done. Default 0. */
  readonly does?: number | 'never';
  /** Milliseconds until the caller hears of it. Default: as soon as it is done. */
  readonly answers?: number | 'never';
  /** What the caller hears in place of the truth. */
  readonly value?: unknown;
  /** What the caller's promise rejects with, whatever was done. */
  readonly error?: unknown;
  /** What is thrown in place of a promise; nothing is done. */
  readonly throws?: unknown;
}

export interface Asked {
  readonly method: Method;
  readonly owner: string;
  readonly key: string;
  /** Of the lock or the record. */
  readonly ttl: number | undefined;
  readonly at: number;
}

/** Nothing is done, and nobody hears of it. */
export const HANGS: Step = { does: 'never', answers: 'never' };
/** Nothing is done. */
export const rejects = (error: unknown): Step => ({ does: 'never', answers: 0, error });
/** It is done at once, and the answer is lost. */
export const LOST: Step = { answers: 'never' };

/** A store in memory that fails by plan: each call takes the next step of its method. */
export class ScriptedStore implements IdempotencyStore {
  readonly memory = new InMemoryIdempotencyStore();
  readonly asked: Asked[] = [];
  private readonly steps = new Map<Method, Step[]>();
  private readonly rest = new Map<Method, Step>();

  /** The next calls of the method. */
  script(method: Method, ...steps: readonly Step[]): void {
    this.steps.set(method, [...(this.steps.get(method) ?? []), ...steps]);
  }

  /** All calls of the methods that have no step of their own. */
  always(step: Step, ...methods: readonly Method[]): void {
    for (const method of methods) this.rest.set(method, step);
  }

  count(method: Method): number {
    return this.asked.filter((call) => call.method === method).length;
  }

  acquire(...args: Parameters<IdempotencyStore['acquire']>): ReturnType<IdempotencyStore['acquire']> {
    this.note('acquire', args, args[3]);
    return this.play('acquire', () => this.memory.acquire(...args));
  }

  complete(...args: Parameters<IdempotencyStore['complete']>): Promise<boolean> {
    this.note('complete', args, args[3]);
    return this.play('complete', () => this.memory.complete(...args));
  }

  release(...args: Parameters<IdempotencyStore['release']>): Promise<boolean> {
    this.note('release', args, undefined);
    return this.play('release', () => this.memory.release(...args));
  }

  extend(...args: Parameters<IdempotencyStore['extend']>): Promise<boolean> {
    this.note('extend', args, args[2]);
    return this.play('extend', () => this.memory.extend(...args));
  }

  private note(method: Method, [key, owner]: readonly unknown[], ttl: number | undefined): void {
    this.asked.push({ method, key: key as string, owner: owner as string, ttl, at: Date.now() });
  }

  private play<T>(method: Method, act: () => Promise<T>): Promise<T> {
    const step = this.steps.get(method)?.shift() ?? this.rest.get(method) ?? {};
    if ('throws' in step) throw step.throws;

    const done = step.does === 'never' ? undefined : inMs(step.does ?? 0, act);
    return answer(step, done);
  }
}

async function answer<T>(step: Step, done: Promise<T> | undefined): Promise<T> {
  if (step.answers === 'never') await new Promise(() => {});
  else if (step.answers !== undefined) await inMs(step.answers, async () => {});
  else await done;
  if ('error' in step) throw step.error;
  if ('value' in step) return step.value as T;

  return await (done as Promise<T>);
}

async function inMs<T>(ms: number, act: () => Promise<T>): Promise<T> {
  if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));

  return await act();
}
