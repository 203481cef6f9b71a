import { Deadline } from 'holdfast';

export type { Deadline };

/**
 * The deadline of a request that came just now.
 *
 * @param totalMs What it may take, in milliseconds. Greater than 0.
 */
export function createDeadline(totalMs: number): Deadline {
  return Deadline.after(totalMs);
}
