import { RequestMethod, type ExecutionContext } from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { describe, expect, it } from 'vitest';
import type { HandlerKinds } from 'holdfast/nest';
import type { HttpAdapterHost } from '@nestjs/core';
import { readSettings } from '../settings.js';
import type { PolicyRegistry } from '../registry.js';
import { Transports } from '../transports/transports.js';
import { mayEverRepeat, mayRepeat, type RetryRule } from './repeatable.js';

function contextOf(type: string, args: unknown[]): ExecutionContext {
  const context = new ExecutionContextHost(args);
  context.setType(type);

  return context;
}

const transports = new Transports({} as HttpAdapterHost, { settings: readSettings({}) } as PolicyRegistry);
const repeats = (retry: RetryRule, context: ExecutionContext): boolean =>
  mayRepeat({ retry }, transports.of(context).isSafe(context));

const http = (method: string) => contextOf('http', [{ method }]);
const graphql = (operation: string) => contextOf('graphql', [{}, {}, {}, { operation: { operation } }]);
const rpc = contextOf('rpc', [{}]);
const ws = contextOf('ws', [{}]);
const other = contextOf('necord', [{}]);

describe('mayRepeat', () => {
  it.each(['GET', 'HEAD', 'OPTIONS', 'get', 'Head', 'oPTIONS'])('repeats %s', (method) => {
    expect(repeats('safe', http(method))).toBe(true);
    expect(repeats('declared', http(method))).toBe(true);
  });

  it.each(['POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'QUERY', 'GETS', ''])('does not repeat "%s"', (method) => {
    expect(repeats('safe', http(method))).toBe(false);
    expect(repeats('declared', http(method))).toBe(false);
  });

  it('repeats GraphQL queries only, whatever the field is', () => {
    const decide = (retry: RetryRule) => ['query', 'mutation', 'subscription'].map((o) => repeats(retry, graphql(o)));

    expect(decide('safe')).toEqual([true, false, false]);
    expect(decide('declared')).toEqual([true, false, false]);
  });

  it('does not repeat a GraphQL call that tells nothing of its operation', () => {
    expect(repeats('safe', contextOf('graphql', [{}, {}, {}]))).toBe(false);
  });

  it.each([
    ['messages', rpc],
    ['WebSocket messages', ws],
    ['other transports', other],
  ])('repeats %s only where the handler itself asks for it', (_case, context) => {
    expect(repeats('declared', context)).toBe(true);
    expect(repeats('safe', context)).toBe(false);
  });

  it('repeats everything that is declared idempotent, and nothing that is never to be repeated', () => {
    for (const context of [http('POST'), http('GET'), graphql('mutation'), rpc, ws, other]) {
      expect(repeats('always', context)).toBe(true);
      expect(repeats('never', context)).toBe(false);
    }
  });
});

describe('mayEverRepeat', () => {
  const none: HandlerKinds = {
    http: undefined,
    serverSentEvents: false,
    graphql: undefined,
    rpc: false,
    websocket: false,
    requestStream: false,
    passedThrough: false,
  };
  const cases: [string, Partial<HandlerKinds>, boolean, boolean][] = [
    ['a GET route', { http: RequestMethod.GET }, true, true],
    ['a HEAD route', { http: RequestMethod.HEAD }, true, true],
    ['an OPTIONS route', { http: RequestMethod.OPTIONS }, true, true],
    ['a route for all methods', { http: RequestMethod.ALL }, true, true],
    ['a POST route', { http: RequestMethod.POST }, false, false],
    ['a DELETE route', { http: RequestMethod.DELETE }, false, false],
    ['a POST route that is a message handler too', { http: RequestMethod.POST, rpc: true }, false, true],
    ['a query', { graphql: 'query' }, true, true],
    ['a field', { graphql: 'field' }, true, true],
    ['a mutation', { graphql: 'mutation' }, false, false],
    ['a message handler', { rpc: true }, false, true],
    ['a WebSocket handler', { websocket: true }, false, true],
  ];

  it.each(cases)('knows %s', (_case, kinds, safe, declared) => {
    expect(mayEverRepeat('safe', { ...none, ...kinds })).toBe(safe);
    expect(mayEverRepeat('declared', { ...none, ...kinds })).toBe(declared);
    expect(mayEverRepeat('always', { ...none, ...kinds })).toBe(true);
    expect(mayEverRepeat('never', { ...none, ...kinds })).toBe(false);
  });
});
