/** The wall clock of a server, against that of everybody else. */
export interface WallClock {
  /** Milliseconds by which it is ahead. */
  readonly ahead: number;
  /** Milliseconds by which it steps every second, and back again in the next. */
  readonly step: number;
}

/** For `--import`: moves the wall clock of a process before anything else is loaded. */
export function clockShift({ ahead, step }: WallClock): string {
  const source = `
    const RealDate = globalThis.Date;
    const moved = () => RealDate.now() + ${ahead} + (Math.floor(performance.now() / 1_000) % 2) * ${step};
    globalThis.Date = class Date extends RealDate {
      constructor(...given) {
        if (given.length === 0) super(moved());
        else super(...given);
      }
      static now() {
        return moved();
      }
    };`;

  return `data:text/javascript,${encodeURIComponent(source)}`;
}
