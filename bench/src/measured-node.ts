import { resolve } from 'node:path';

/**
 * The Node that measured processes run on: that of `BENCH_NODE`, else this one. npm starts programs in the folder of their
 * package, and says where it was called.
 */
export function measuredNode(environment: NodeJS.ProcessEnv = process.env): string {
  const { BENCH_NODE, INIT_CWD = '.' } = environment;

  return BENCH_NODE === undefined ? process.execPath : resolve(INIT_CWD, BENCH_NODE);
}
