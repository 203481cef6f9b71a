export type StoreName = 'postgres' | 'redis';

/** What is wrong with the store that stands in for the package's own. */
export const FAULTS = [
  'none',
  'read-then-write',
  'complete-without-owner',
  'release-without-owner',
  'no-expiry-check',
  'forgotten-in-a-crash',
  'clock-of-the-server',
] as const;

export type Fault = (typeof FAULTS)[number];

/** What one process of a server is told by its environment. */
export interface ServerSettings {
  /** Which process of which server it is, such as `b.3`. */
  readonly life: string;
  readonly port: number;
  readonly seed: number;
  readonly store: StoreName;
  readonly storeUrl: string;
  readonly keyPrefix: string;
  /** Of the database with the effects. */
  readonly effectsUrl: string;
  /** The file to which it writes which answers were stored: what is in there outlives the process. */
  readonly acknowledged: string;
  /** The file to which it writes when it could not run, or its store not answer. */
  readonly stalls: string;
  /** Milliseconds. */
  readonly lockTtl: number;
  /** Milliseconds. */
  readonly storeTimeout: number;
  /** Effect and answer are committed in one transaction. */
  readonly joined: boolean;
  /** A store of the proof's own takes the place of the package's. */
  readonly fault?: Fault | undefined;
}

const VARIABLE = 'IDEMPOTENCY_PROOF';

export function environmentOf(settings: ServerSettings): NodeJS.ProcessEnv {
  return { ...process.env, [VARIABLE]: JSON.stringify(settings) };
}

export function settingsOfThisProcess(): ServerSettings {
  return JSON.parse(process.env[VARIABLE] ?? '') as ServerSettings;
}
