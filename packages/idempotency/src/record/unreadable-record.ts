/** Why a record cannot be replayed. */
export type UnreadableReason =
  /** It is in clear, and encryption is on. */
  | 'plain'
  /** It is sealed, and encryption is off. */
  | 'sealed'
  /** Its seal is of a version that this one does not know. */
  | 'unknown-version'
  /** None of the keys has sealed it. */
  | 'unknown-key'
  /** It was altered, or belongs to another key. */
  | 'tampered'
  /** It does not have the form of a record. */
  | 'malformed';

/** A record that is there and cannot be replayed. Its call must not run again: it may have been done. */
export class UnreadableRecordError extends Error {
  constructor(
    readonly reason: UnreadableReason,
    /** The end of a sentence that begins with "The stored record". Holds nothing of its content. */
    problem: string,
    options?: ErrorOptions,
  ) {
    super(`The stored record ${problem}.`, options);
    this.name = 'UnreadableRecordError';
  }
}
