// The gateway on workerd: bindings in place of variables, and no code before the first request that would need them.
import { readAddress, readSettings } from '../lib/settings.js';
import { fetchOrigin } from './fetch-origin.js';
import { onItsPaths } from './respond.js';

type Bindings = Readonly<Record<string, string | undefined>>;

interface Execution {
  waitUntil(work: Promise<unknown>): void;
}

let respond: ((request: Request) => Promise<Response>) | undefined;

function begin(bindings: Bindings): (request: Request) => Promise<Response> {
  const origin = readAddress('ORIGIN_URL', bindings['ORIGIN_URL'] ?? '');

  return onItsPaths(
    readSettings((name) => bindings[name]),
    (request) => fetchOrigin(origin, request),
  );
}

export default {
  async fetch(request: Request, bindings: Bindings, execution: Execution): Promise<Response> {
    respond ??= begin(bindings);
    const answer = respond(request);
    // A client that leaves would end this code with it, before it has told the log.
    execution.waitUntil(answer.catch(() => {}));

    return answer;
  },
};
