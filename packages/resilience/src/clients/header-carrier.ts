/** One header of an outgoing message. */
export interface OutgoingHeader {
  readonly name: string;
  /** Its value at this moment; `undefined` when there is nothing to say. */
  value(): string | undefined;
}

/** What a message sees in place of its client's own members of these names. */
export type Members = Readonly<Record<string, unknown>>;

/**
 * How clients of a transport write a header beside a message. Clients are told by their shape, since there may be
 * several copies of their package; what a message says by itself is never changed, and wins.
 */
export interface HeaderCarrier {
  /** Whether this is a client of such a transport. */
  suits(client: object): boolean;
  /** What a message that carries the header sees. */
  members(client: object, header: OutgoingHeader): Members;
}

export function withHeader(
  headers: unknown,
  { name, value }: OutgoingHeader,
): Readonly<Record<string, unknown>> | undefined {
  const own = typeof headers === 'object' && headers !== null ? (headers as Readonly<Record<string, unknown>>) : {};
  const text = value();

  return text === undefined ? undefined : { ...own, [name]: text };
}
