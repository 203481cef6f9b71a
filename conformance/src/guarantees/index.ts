import type { Guarantee } from '../guarantee.js';
import { TIMEOUT } from './timeout.js';

/** All of them, by policy. */
export const GUARANTEES: readonly Guarantee[] = [...TIMEOUT];
