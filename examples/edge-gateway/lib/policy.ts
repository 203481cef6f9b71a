import type { SectionDeclaration } from 'holdfast';

// #region budget
/** For everything before the origin answers, in milliseconds. */
export const TOTAL_BUDGET_MS = 1_500;

/** What of it no step may spend: it pays for the origin. */
export const ORIGIN_RESERVE_MS = 800;
// #endregion

// #region steps
export const STEPS = {
  /** A gate: who cannot be confirmed stays outside. */
  revocation: { name: 'revocation', onFailure: 'closed', timeout: 200 },
  /** An enhancement: without an answer everybody gets the control variant. */
  flags: { name: 'flags', onFailure: 'open', fallback: {}, timeout: 250 },
  /** Another one, for pages that show a place. No step asks for it yet. */
  geoEnrich: { name: 'geo', onFailure: 'open', fallback: null, timeout: 120 },
} as const satisfies Record<string, SectionDeclaration>;
// #endregion
