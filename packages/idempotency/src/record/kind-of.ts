import { show } from 'holdfast/binding';

/** What a value is, for a message that must not show it: a secret, or what somebody's customer has ordered. */
export function kindOf(value: unknown): string {
  return typeof value === 'object' || value === undefined ? show(value) : `a ${typeof value}`;
}
