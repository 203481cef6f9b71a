import { expect, it } from 'vitest';
import { measuredNode } from './measured-node.js';

it.each([
  ['this one', {}, process.execPath],
  ['that of BENCH_NODE', { BENCH_NODE: '/opt/node', INIT_CWD: '/home/me' }, '/opt/node'],
  [
    'one below the folder that npm was called in',
    { BENCH_NODE: 'nodes/24', INIT_CWD: '/home/me' },
    '/home/me/nodes/24',
  ],
])('measured processes run on %s', (_which, environment, node) => {
  expect(measuredNode(environment)).toBe(node);
});
