/** A number with what it counts, as a report reads: "1 timer", "2 timers". */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
