import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The Node that measured processes run on: that of `BENCH_NODE`, else this one. npm starts programs in the folder of their
 * package, and says where it was called.
 */
export function measuredNode(environment: NodeJS.ProcessEnv = process.env): string {
  const { BENCH_NODE = '', INIT_CWD = '.' } = environment;

  return BENCH_NODE === '' ? process.execPath : resolve(INIT_CWD, BENCH_NODE);
}

/** The newer Node of a report, where it is installed. */
const NODE_24 = fileURLToPath(new URL('../../tools/nodes/node_modules/node-24/bin/node', import.meta.url));

/** The Nodes of a report: that of `BENCH_NODE` alone, else this one and Node 24. */
export function reportedNodes(
  environment: NodeJS.ProcessEnv = process.env,
  version = process.versions.node,
): readonly string[] {
  const node = measuredNode(environment);
  const isChosen = (environment.BENCH_NODE ?? '') !== '';

  return isChosen || majorOf(version) === 24 || !existsSync(NODE_24) ? [node] : [node, NODE_24];
}

/**
 * The Nodes that a command measures.
 *
 * @throws TypeError when `BENCH_NODE` leads to nothing.
 */
export function nodesOf(
  { report }: { readonly report: boolean },
  environment: NodeJS.ProcessEnv = process.env,
): readonly string[] {
  const nodes = report ? reportedNodes(environment) : [measuredNode(environment)];
  const missing = nodes.find((node) => !existsSync(node));
  if (missing === undefined) return nodes;

  throw new TypeError(`BENCH_NODE: there is no ${missing}.`);
}

/** As in 20 of 20.19.0. */
export function majorOf(version: string): number {
  return Number.parseInt(version, 10);
}
