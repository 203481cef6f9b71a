import type { CallReport } from './watched-client.js';

export interface Stage {
  readonly print: (line: string) => void;
  /** How long a second of the script takes: 1,000 ms, or less for those in a hurry. */
  readonly secondMs: number;
}

const WIDTHS = [8, 7, 14, 12, 6, 10] as const;
const EMPTY = '-';

export const HEADINGS = row(['second', 'calls', 'median call', 'slowest', 'cut', 'limit']);

/** One line for each second of a scene: the calls that began in it, and the limit after the last of them. */
export class SecondsTable {
  readonly #print: (line: string) => void;
  readonly #secondMs: number;
  readonly #startedAt = performance.now();
  /** The number of the first line; the next line is of the second that begins this many seconds later. */
  readonly #first: number;
  #done = 0;
  #calls: CallReport[] = [];
  #limitMs: number;

  constructor(first: number, limitMs: number, { print, secondMs }: Stage) {
    this.#first = first;
    this.#limitMs = limitMs;
    this.#print = print;
    this.#secondMs = secondMs;
  }

  /** Of a call that has just ended. */
  add(call: CallReport, limitMs: number): void {
    const began = Math.floor((performance.now() - call.tookMs - this.#startedAt) / this.#secondMs);
    this.finish(began);
    this.#calls.push(call);
    this.#limitMs = limitMs;
  }

  /** Prints the lines of the first `seconds` seconds, as far as they are not printed yet. */
  finish(seconds: number): void {
    for (; this.#done < seconds; this.#done++) {
      this.#print(row(cellsOf(this.#first + this.#done, this.#calls, this.#limitMs)));
      this.#calls = [];
    }
  }
}

function cellsOf(second: number, calls: readonly CallReport[], limitMs: number): string[] {
  const times = calls.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
  const cuts = calls.reduce((sum, { cutsMs }) => sum + cutsMs.length, 0);

  return [
    String(second),
    String(calls.length),
    milliseconds(times[Math.floor(times.length / 2)]),
    milliseconds(times.at(-1)),
    cuts === 0 ? EMPTY : String(cuts),
    milliseconds(limitMs),
  ];
}

export function milliseconds(time: number | undefined): string {
  return time === undefined ? EMPTY : `${Math.round(time)} ms`;
}

function row(cells: readonly string[]): string {
  return cells.map((cell, column) => cell.padStart(WIDTHS[column] ?? 0)).join('');
}
