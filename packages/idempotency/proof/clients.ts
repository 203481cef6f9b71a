import { setTimeout as pause } from 'node:timers/promises';
import { moment } from './moment.js';
import type { Random } from './random.js';
import type { Charge, Charged } from './server/charges.js';

/** What became of one request, by the rules that are written down for clients. */
export type Answer =
  /** The handler has run for it. */
  | { readonly kind: 'run'; readonly body: string }
  /** What another request was answered. */
  | { readonly kind: 'replay'; readonly body: string }
  /** 409: another one is running. */
  | { readonly kind: 'conflict' }
  /** 422: the key is another request's. */
  | { readonly kind: 'reused' }
  /** 503: the store cannot be asked. */
  | { readonly kind: 'unavailable' }
  /** 503 by the handler itself, which has done nothing. */
  | { readonly kind: 'declined' }
  /** The server was killed meanwhile, or before. */
  | { readonly kind: 'cut' }
  /** Nothing was listening. */
  | { readonly kind: 'refused' }
  /** What nobody has written down. */
  | { readonly kind: 'odd'; readonly what: string };

/** One request, as its client has seen it. */
export interface Asked {
  readonly charge: Charge;
  readonly sentAt: number;
  /** Missing while nothing has come back. */
  endedAt?: number;
  answer?: Answer;
}

/** Servers are behind one name, which is part of what a key belongs to. */
const PUBLIC_HOST = 'shop.example';

const LONGEST_ANSWER_MS = 60_000;

export interface ClientsPlan {
  readonly urls: readonly string[];
  /** Milliseconds. */
  readonly lockTtl: number;
}

/** What a client does that has waited long enough: it asks another server, while the first may still be at it. */
const UNANSWERED = { kind: 'unanswered' } as const;

const LONGEST_TRY_MS = 60_000;

export class Clients {
  readonly asked = new Map<string, Asked[]>();
  /** Those that came to a server. */
  requests = 0;
  readonly #open = new Set<Promise<Answer>>();

  constructor(private readonly plan: ClientsPlan) {}

  /** Asks any of the servers until there is an answer for good, or none is to be expected any more. */
  async settle(charge: Charge, random: Random): Promise<void> {
    const since = moment();
    let refusedSince: number | undefined;
    while (moment() - since < LONGEST_TRY_MS) {
      const { kind } = await this.ask(charge, random);
      if (kind === 'run' || kind === 'replay' || kind === 'odd') return;

      refusedSince = kind === 'conflict' ? (refusedSince ?? moment()) : undefined;
      if (refusedSince !== undefined && moment() - refusedSince > 4 * this.plan.lockTtl) return;
      // Sooner than `Retry-After` says: who is told to wait does not always wait.
      await pause(random.between(20, 120));
    }
  }

  async ask(charge: Charge, random: Random): Promise<Answer | typeof UNANSWERED> {
    const answer = this.send(charge, random.pick(this.plan.urls));
    this.#open.add(answer);
    void answer.then(() => this.#open.delete(answer));
    const patience = new AbortController();
    const waited = pause(random.between(200, 800), UNANSWERED, { signal: patience.signal }).catch(() => UNANSWERED);
    const first = await Promise.race([answer, waited]);
    patience.abort();

    return first;
  }

  /** Until every request has come to its end. */
  async end(): Promise<void> {
    while (this.#open.size > 0) await Promise.all(this.#open);
  }

  private async send(charge: Charge, url: string): Promise<Answer> {
    const asked: Asked = { charge, sentAt: moment() };
    const ofKey = this.asked.get(charge.key) ?? [];
    this.asked.set(charge.key, ofKey);
    ofKey.push(asked);
    const answer = await post(url, charge);
    asked.endedAt = moment();
    asked.answer = answer;
    if (answer.kind !== 'refused') this.requests += 1;

    return answer;
  }
}

async function post(url: string, charge: Charge): Promise<Answer> {
  let response: Response;
  let body: string;
  try {
    response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': charge.key, 'x-forwarded-host': PUBLIC_HOST },
      body: JSON.stringify(charge),
      signal: AbortSignal.timeout(LONGEST_ANSWER_MS),
    });
    body = await response.text();
  } catch (error) {
    return failureOf(error);
  }

  return answerOf(response, body);
}

function failureOf(error: unknown): Answer {
  if (error instanceof Error && error.name === 'TimeoutError') {
    return { kind: 'odd', what: `no answer within ${LONGEST_ANSWER_MS}ms` };
  }

  const { code } = ((error as { readonly cause?: unknown }).cause ?? {}) as { readonly code?: string };
  return { kind: code === 'ECONNREFUSED' ? 'refused' : 'cut' };
}

function answerOf(response: Response, body: string): Answer {
  const { status, headers } = response;
  if (status === 200) return { kind: headers.get('idempotent-replayed') === 'true' ? 'replay' : 'run', body };

  const { code, message } = parsed(body);
  const mayRetry = /^[1-9]\d*$/.test(headers.get('retry-after') ?? '');
  if (status === 409 && code === 'IDEMPOTENCY_KEY_IN_USE' && mayRetry) return { kind: 'conflict' };
  if (status === 422 && code === 'IDEMPOTENCY_KEY_REUSED') return { kind: 'reused' };
  if (status === 503 && code === 'IDEMPOTENCY_STORE_UNAVAILABLE' && mayRetry) return { kind: 'unavailable' };
  if (status === 503 && message === 'declined') return { kind: 'declined' };

  return { kind: 'odd', what: `${status} ${body}` };
}

function parsed(body: string): { readonly code?: string; readonly message?: string } {
  try {
    return JSON.parse(body) as { code?: string; message?: string };
  } catch {
    return {};
  }
}

/** What a client was answered. */
export function chargedIn(body: string): Charged {
  return JSON.parse(body) as Charged;
}
