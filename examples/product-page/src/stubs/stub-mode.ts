/**
 * What a stub does with a request: `slow` answers after a second, `fail` with 500, `missing` with 404; `hang` never
 * answers, and `trickle` sends its head at once and then a byte now and then, without an end.
 */
export const STUB_MODES = ['answer', 'slow', 'fail', 'missing', 'hang', 'trickle'] as const;

export type StubMode = (typeof STUB_MODES)[number];

export function isStubMode(given: string): given is StubMode {
  return (STUB_MODES as readonly string[]).includes(given);
}
