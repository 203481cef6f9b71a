/** Milliseconds on a clock that all processes of this machine share, and that never steps. */
export function moment(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
