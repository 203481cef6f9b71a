/** What a stub does with a request: `hang` never answers, `fail` answers 500. */
export const STUB_MODES = ['answer', 'hang', 'fail'] as const;

export type StubMode = (typeof STUB_MODES)[number];

export function isStubMode(given: string): given is StubMode {
  return (STUB_MODES as readonly string[]).includes(given);
}
