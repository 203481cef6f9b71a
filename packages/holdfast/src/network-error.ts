const NETWORK_CODES: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENETRESET',
  'EADDRNOTAVAIL',
  'ERR_NETWORK',
  'UND_ERR_SOCKET',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_CLOSED',
  'UND_ERR_DESTROYED',
  'ConnectionRefused',
  'ConnectionReset',
  'ConnectionClosed',
  'FailedToOpenSocket',
  'Timeout',
]);

/** What browsers, Deno and workerd say with a bare `TypeError`, whose message is all there is to go by. */
const NETWORK_MESSAGE =
  /^(fetch failed|failed to fetch|load failed|networkerror when attempting to fetch resource|the internet connection appears to be offline|the network connection was lost|network connection lost|network request failed|internal error; reference|error sending request|client error \(|unable to connect|the socket connection was closed|socket hang up|network error)/i;

const DEEPEST_CAUSE = 5;

/**
 * Whether an error means that no answer came over the network, in the shapes of fetch, undici, axios, got, Bun and
 * Deno. Meant for `retryIf` and `recordIf`; no policy uses it by default.
 */
export function isNetworkError(error: unknown): boolean {
  let current = error;
  for (let depth = 0; depth < DEEPEST_CAUSE && typeof current === 'object' && current !== null; depth++) {
    const { code, name: kind, message, cause, response } = current as NetworkShape;
    if (response !== undefined && response !== null) return false;
    if (NETWORK_CODES.has(code)) return true;
    if (typeof message === 'string' && mayBeBare(kind) && NETWORK_MESSAGE.test(message)) return true;
    current = cause;
  }

  return false;
}

interface NetworkShape {
  readonly code?: unknown;
  readonly name?: unknown;
  readonly message?: unknown;
  readonly cause?: unknown;
  readonly response?: unknown;
}

function mayBeBare(kind: unknown): boolean {
  return kind === 'TypeError' || kind === 'Error' || kind === 'AxiosError' || kind === 'RequestError';
}
