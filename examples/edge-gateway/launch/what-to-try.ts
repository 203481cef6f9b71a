/** What is running. */
export interface Running {
  readonly gateway: URL;
  /** Absent when somebody else's keys are in use: then nobody here can sign. */
  readonly tokens: { readonly visitor: string; readonly revoked: string } | undefined;
  /** Our own stubs; absent where an address was given. */
  readonly authStub: URL | undefined;
  readonly flagsStub: URL | undefined;
}

const SLOW_MS = 5_000;

/** Commands for a shell, one to a line, each below what it shows. */
export function whatToTry({ gateway, tokens, authStub, flagsStub }: Running): string {
  const { origin } = gateway;
  const ask = `curl -i -H "authorization: Bearer $TOKEN" ${origin}/app/cart`;
  const lines = [`The gateway answers on ${origin}/app/. Ctrl+C ends it.`, ''];
  if (tokens === undefined) {
    lines.push('Put a token that one of TOKEN_KEYS has signed into TOKEN.', '');
  } else {
    lines.push(`TOKEN=${tokens.visitor}`, `REVOKED=${tokens.revoked}`, '');
  }
  lines.push('# The whole answer, with the flags of the day', ask);
  if (flagsStub !== undefined) lines.push(...slowly('Flags hang: the page all the same, marked', flagsStub, ask));
  if (authStub !== undefined) lines.push(...slowly('The revocation list hangs: 503', authStub, ask));
  if (tokens !== undefined) lines.push('# Revoked: 401', ask.replace('$TOKEN', '$REVOKED'));
  lines.push('# No token: 401', `curl -i ${origin}/app/cart`);
  lines.push('# Excluded from the gateway', `curl -i ${origin}/app/health`);

  return lines.join('\n');
}

function slowly(what: string, stub: URL, ask: string): string[] {
  const delay = (ms: number): string => `curl -X PUT ${stub.origin}/delay/${ms}`;

  return [`# ${what}`, delay(SLOW_MS), ask, delay(0)];
}
