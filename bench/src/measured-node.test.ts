import { describe, expect, it } from 'vitest';
import { measuredNode, nodesOf, reportedNodes } from './measured-node.js';

describe('measured processes', () => {
  it.each([
    ['this one', {}, process.execPath],
    ['this one when BENCH_NODE is empty', { BENCH_NODE: '' }, process.execPath],
    ['that of BENCH_NODE', { BENCH_NODE: '/opt/node', INIT_CWD: '/home/me' }, '/opt/node'],
    [
      'one below the folder that npm was called in',
      { BENCH_NODE: 'nodes/24', INIT_CWD: '/home/me' },
      '/home/me/nodes/24',
    ],
  ])('run on %s', (_which, environment, node) => {
    expect(measuredNode(environment)).toBe(node);
  });
});

describe('a command', () => {
  it('measures nothing where BENCH_NODE leads to nothing', () => {
    const environment = { BENCH_NODE: '/nonexistent' };

    expect(() => nodesOf({ report: false }, environment)).toThrow(
      new TypeError('BENCH_NODE: there is no /nonexistent.'),
    );
    expect(() => nodesOf({ report: true }, environment)).toThrow(TypeError);
    expect(nodesOf({ report: false }, { BENCH_NODE: process.execPath })).toEqual([process.execPath]);
  });
});

describe('a report', () => {
  it('is of the Node that BENCH_NODE asks for and no other', () => {
    expect(reportedNodes({ BENCH_NODE: '/opt/node' }, '20.19.0')).toEqual(['/opt/node']);
  });

  it('is of this Node first, and of one Node when this is the newer one', () => {
    expect(reportedNodes({}, '20.19.0')[0]).toBe(process.execPath);
    expect(reportedNodes({}, '24.1.0')).toEqual([process.execPath]);
  });
});
