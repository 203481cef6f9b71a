import { fetchJson, requireValue } from './fetch-with-timeout.js';
import { STEPS } from './policy.js';
import { applyTimeoutHeaders } from './report.js';
import { sessionVerifier, type Session } from './session.js';
import type { Settings } from './settings.js';
import { StepRefusedError, Steps } from './steps.js';

/** What the platform lends to an edge function. */
export interface Context {
  /** Passes the request on to the origin. */
  next(): Promise<Response>;
}

export type Gateway = (request: Request, context: Context) => Promise<Response>;

type Flags = Readonly<Record<string, boolean>>;

/** Appears in a header, in a list with commas. */
const FLAG_NAME = /^[\w!#$%&'*+.^`|~-]+$/;
const NO_STORE = { 'cache-control': 'no-store' };

/** Lets signed requests through to the origin unless their session was revoked, with the flags of the day. */
export function createGateway(settings: Settings): Gateway {
  const { budgetMs: budget, reserveMs: reserve, revocationsUrl, flagsUrl } = settings;
  const verify = sessionVerifier(settings);

  // #region handler
  return async function gateway(request, context) {
    const steps = new Steps({ budget, reserve, signal: request.signal });
    const session = await verify(request);
    if (session !== 'signed') return unauthorized(session);

    let flags: Flags;
    try {
      const revoked = await steps.run(STEPS.revocation, ({ signal }) => askRevoked(revocationsUrl, request, signal));
      if (revoked) return new Response(null, { status: 401, headers: NO_STORE });

      flags = await steps.run(STEPS.flags, ({ signal }) => askFlags(flagsUrl, signal));
    } catch (error) {
      if (error instanceof StepRefusedError) return unavailable(error);
      throw error;
    }

    // What the request is for. It runs outside of the budget, which exists so that there is time for it.
    return marked(await context.next(), flags, steps);
  };
  // #endregion
}

// #region ask
async function askRevoked(url: URL, request: Request, signal: AbortSignal): Promise<boolean> {
  const headers = { authorization: request.headers.get('authorization') ?? '' };
  const answer = requireValue(
    await fetchJson<{ revoked?: unknown } | null>(url, { headers, signal }, STEPS.revocation.timeout),
  );
  // Anything but a clear answer is none: a gate must not open because a field was renamed.
  if (typeof answer?.revoked !== 'boolean') {
    throw new TypeError('The answer does not say whether the session is revoked');
  }

  return answer.revoked;
}
// #endregion

async function askFlags(url: URL, signal: AbortSignal): Promise<Flags> {
  const flags = requireValue(await fetchJson<Flags | null>(url, { signal }, STEPS.flags.timeout));
  if (typeof flags !== 'object' || flags === null || !Object.keys(flags).every((name) => FLAG_NAME.test(name))) {
    throw new TypeError('The answer does not name flags');
  }

  return flags;
}

function unauthorized(session: Exclude<Session, 'signed'>): Response {
  const challenge = session === 'missing' ? 'Bearer' : 'Bearer error="invalid_token"';

  return new Response(null, { status: 401, headers: { ...NO_STORE, 'www-authenticate': challenge } });
}

function unavailable({ step }: StepRefusedError): Response {
  const headers = new Headers({ 'retry-after': '5' });
  applyTimeoutHeaders(headers, [step]);

  return new Response('Service temporarily unavailable', { status: 503, headers });
}

function marked(response: Response, flags: Flags, { degraded }: Steps): Response {
  // A switch of protocols is no answer that could be built anew.
  if (response.status < 200) return response;

  const headers = new Headers(response.headers);
  headers.set(
    'x-flags',
    Object.keys(flags)
      .filter((name) => flags[name])
      .join(','),
  );
  applyTimeoutHeaders(headers, degraded);
  const { status, statusText, body } = response;

  return new Response(body, { status, statusText, headers });
}
