/** Of what a record's key is made. */
export interface RecordKeyParts {
  /** What the client sent. */
  readonly key: string;
  /** Who is asking. */
  readonly scope?: string | undefined;
  /**
   * Which of several that share the key, behind the kind of call: `graphql.` and the path of a field, `rpc.` and
   * `Class.method` of a message handler, `service.` and the name of a run.
   */
  readonly place?: string | undefined;
}

const LONE_SURROGATE = /(\p{Surrogate})/u;

/**
 * The key under which a store keeps the record: `key`, `scope:key`, `key@place` or `scope:key@place`, every part
 * percent-encoded. Encoding leaves no `:` and no `@` inside of a part, so that each of them says which part is there,
 * and no two different calls ever meet. It leaves no braces either, which would choose the slot of a Redis cluster, and
 * no NUL, which PostgreSQL does not take.
 */
export function recordKey(parts: RecordKeyParts): string {
  const { key, scope, place } = parts;
  const before = scope === undefined ? '' : `${encode(scope)}:`;
  const behind = place === undefined ? '' : `@${encode(place)}`;

  return before + encode(key) + behind;
}

/** `encodeURIComponent()`, which throws for a surrogate without its other half: here that is `%u` and its four digits. */
function encode(text: string): string {
  if (!LONE_SURROGATE.test(text)) return encodeURIComponent(text);

  return text
    .split(LONE_SURROGATE)
    .map((piece, index) =>
      index % 2 === 0 ? encodeURIComponent(piece) : `%u${piece.charCodeAt(0).toString(16).toUpperCase()}`,
    )
    .join('');
}
