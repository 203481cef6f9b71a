/** What a random execution is held against after every step: the engine's rules, a sentence each. */
export const INVARIANTS = {
  'own-signal':
    'The signal of an attempt is its own, neither the caller’s nor that of another attempt, and the same whenever it is asked for.',
  'one-listener':
    'However many calls follow a caller’s signal, one listener stands on it, and none once they have settled.',
  'controllers-on-demand': 'A controller is made when somebody needs the signal of its attempt, and not before.',
  'quiet-after-success': 'The signal of an attempt that has settled in time never aborts.',
  'cut-attempts-are-told':
    'The signal of an attempt that is given up has aborted, with that reason, whenever it is asked for.',
  'limit-to-the-millisecond':
    'A limit ends what runs inside in its very millisecond, not before and not after, whatever the work does.',
  'first-reason':
    'Whoever is given up from outside gets the reason of the first who aborted, by identity, in every layer.',
  'leaves-at-once':
    'A call whose caller aborts, or whose attempt around is given up, has settled when the abort returns.',
  'nothing-for-nobody':
    'No work and no stage is begun for a call that has settled or was given up, nor with no time left.',
  'outcome-passes':
    'Each layer passes on the outcome that it was given unless it changes it as documented, and the caller gets that of the outermost.',
  'retries-as-told':
    'Another attempt is made when attempts, predicates and budget allow one, after exactly its wait, and not otherwise.',
  'fallback-as-told': 'A fallback answers for the failures that it is for, and for nothing else.',
  'reasons-apart':
    'Timeouts, deadlines, refusals and callers’ aborts come as errors of their own, with their code and figures.',
  'wall-clock-moves-nothing': 'A step of the wall clock changes no state, count or token, and ends nothing.',
  'stall-is-nobodys-fault':
    'Input that has arrived while the event loop was held comes before the limit that it is late for.',
  'listeners-change-nothing': 'A listener that throws is reported once, and changes no outcome.',
  'flaw-takes-the-place': 'What a predicate throws takes the outcome’s place, once: it is neither retried nor counted.',
  'options-untouched': 'Objects of options are as they were.',
  'slots-as-counted':
    'A bulkhead’s slots and its queue are those of the model: each is given back once, also by work that runs on.',
  'tokens-as-counted': 'A rate limit’s tokens and turns are those of the model, also when calls leave while they wait.',
  'breaker-as-counted':
    'A breaker’s counts, states and refusals are those of the model; what belongs to an earlier era changes nothing.',
  'refusals-cost-nothing':
    'A refusal by an open breaker or a full bulkhead starts no timer, makes no controller and captures no stack.',
  'attempt-knows-its-place': 'An attempt is told its number and the earliest deadline around it.',
  'answers-in-time': 'An answer of sections has settled when its budget is over, and a section with it.',
  'answers-tell-what-is-missing':
    'An answer lists each section that is missing once, with a reason of the closed set, and no other.',
  'nothing-left':
    'While no call is pending there is no timer, and when all is over no slot and no place in a queue is taken.',
  'nothing-unhandled': 'Nothing is thrown into the process, however late work rejects.',
} as const;

export type InvariantId = keyof typeof INVARIANTS;

export interface Violation {
  readonly invariant: InvariantId;
  readonly what: string;
  /** Milliseconds since the execution began. */
  readonly at: number;
}
