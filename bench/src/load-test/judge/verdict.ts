/** What a run has shown about one thing that must hold. */
export interface Verdict {
  readonly sentence: string;
  /** What speaks against it. */
  readonly findings: readonly string[];
  /** What a reader should know beside it. */
  readonly note?: string | undefined;
  /** What would speak against it, had the machine had time for the application. */
  readonly excused?: number;
}

export const holds = ({ findings }: Verdict): boolean => findings.length === 0;
