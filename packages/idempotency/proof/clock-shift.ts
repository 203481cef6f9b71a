/** For `--import`: moves the wall clock of a process before anything else is loaded. */
export function clockShift(milliseconds: number): string {
  const source = `
    const RealDate = globalThis.Date;
    globalThis.Date = class Date extends RealDate {
      constructor(...given) {
        if (given.length === 0) super(RealDate.now() + ${milliseconds});
        else super(...given);
      }
      static now() {
        return RealDate.now() + ${milliseconds};
      }
    };`;

  return `data:text/javascript,${encodeURIComponent(source)}`;
}
