/** One line of the table: what was seen, and whether it is what was to be seen. */
export interface Row {
  readonly what: string;
  /** What the article that the table comes from has measured, on its machine. */
  readonly article: string;
  readonly here: string;
  readonly condition: string;
  readonly holds: boolean;
}

/** How much longer than its due something may take, in milliseconds, before its condition no longer holds. */
export interface Tolerance {
  readonly slackMs: number;
}

export function inMs(ms: number): string {
  return `${Math.round(ms)} ms`;
}
