import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createServer } from 'node:http';
import { close, listen } from '../launch/listening.js';
import { run } from '../launch/run.js';
import { createSigning } from '../launch/signing.js';

const START = fileURLToPath(new URL('../dist/launch/start.js', import.meta.url));
const LAST = '# Excluded from the gateway';

/** What `npm start` runs once it has built, with what it printed. */
class Started {
  readonly lines: string[] = [];
  readonly child: ChildProcess = spawn(process.execPath, [START], {
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });

  constructor() {
    createInterface({ input: this.child.stdout as NodeJS.ReadableStream }).on('line', (line) => this.lines.push(line));
  }

  /** The commands below a comment, in order. */
  commandsFor(comment: string): string[] {
    const begin = this.lines.indexOf(comment) + 1;
    const end = this.lines.findIndex((line, at) => at >= begin && !line.startsWith('curl'));

    return this.lines.slice(begin, end === -1 ? undefined : end);
  }

  /** Does what `curl` would do in a shell where TOKEN and REVOKED are set as printed. */
  async curl(command: string): Promise<Response> {
    const [, method = 'GET'] = /-X (\w+)/.exec(command) ?? [];
    const [, name, variable] = /-H "(\w+): Bearer \$(\w+)"/.exec(command) ?? [];
    const token = this.lines.find((line) => line.startsWith(`${variable}=`))?.slice(`${variable}=`.length);

    return fetch(command.slice(command.lastIndexOf(' ') + 1), {
      method,
      headers: name === undefined ? {} : { [name]: `Bearer ${token}` },
    });
  }

  get reports(): unknown[] {
    return this.lines.filter((line) => line.startsWith('{"event":"edge')).map((line) => JSON.parse(line) as unknown);
  }
}

// Time is real: a machine that holds every process up for longer than a limit costs answers that are good.
describe('npm start', { retry: 2 }, () => {
  let started: Started;

  beforeAll(async () => {
    started = new Started();
    await vi.waitFor(() => expect(started.commandsFor(LAST)).toHaveLength(1), 20_000);
  }, 30_000);

  afterAll(async () => {
    const ended = once(started.child, 'exit');
    started.child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });

  async function play(comment: string): Promise<Response[]> {
    const answers = [];
    for (const command of started.commandsFor(comment)) answers.push(await started.curl(command));

    return answers;
  }

  it('shows the whole answer', async () => {
    const [answer] = await play('# The whole answer, with the flags of the day');

    expect([answer?.status, answer?.headers.get('x-flags'), answer?.headers.get('etag')]).toEqual([
      200,
      'new-cart',
      '"page-1"',
    ]);
    expect(await answer?.text()).toBe("The origin's answer to /app/cart, first half\nsecond half\n");
  });

  it('shows a page without flags', async () => {
    const [slower, answer, faster] = await play('# Flags hang: the page all the same, marked');

    expect([slower?.status, answer?.status, faster?.status]).toEqual([204, 200, 204]);
    expect(answer?.headers.get('x-edge-degraded')).toMatch(/^flags=upstream_timeout;\d+$/);
    expect([answer?.headers.get('cache-control'), answer?.headers.get('etag')]).toEqual(['no-store', null]);
    await vi.waitFor(() => expect(started.reports.at(-1)).toMatchObject({ step: 'flags', policy: 'open' }));
  });

  it('shows a gate that closes', async () => {
    const [, answer] = await play('# The revocation list hangs: 503');

    expect([answer?.status, answer?.headers.get('retry-after')]).toEqual([503, '5']);
    await vi.waitFor(() => expect(started.reports.at(-1)).toMatchObject({ step: 'revocation', policy: 'closed' }));
  });

  it.each([
    ['# Revoked: 401', 401],
    ['# No token: 401', 401],
    [LAST, 200],
  ])('shows %s', async (comment, status) => {
    expect((await play(comment)).map((answer) => answer.status)).toEqual([status]);
  });
});

describe('starting', () => {
  it('takes services of one’s own, and prints no token for somebody else’s keys', async () => {
    const paths: (string | undefined)[] = [];
    const service = createServer(({ url }, response) => {
      paths.push(url);
      response.end('page');
    });
    const { href } = await listen(service);
    const printed: string[] = [];
    const keys = JSON.stringify({ keys: [{ kty: 'EC', crv: 'P-256', x: 'x', y: 'y' }] });
    const variables = { AUTH_URL: href, FLAGS_URL: href, ORIGIN_URL: href, TOKEN_KEYS: keys, PORT: '0' };
    const { gateway, stop } = await run(variables, (text) => printed.push(text));
    await fetch(new URL('/app/health', gateway));
    await stop();
    await close(service);

    expect(printed.join()).toContain('Put a token that one of TOKEN_KEYS has signed into TOKEN.');
    expect(printed.join()).not.toContain('/delay/');
    expect(paths).toEqual(['/app/health']);
  });

  it('asks all of those for a request of somebody who has a token', async () => {
    const paths: (string | undefined)[] = [];
    const service = createServer(({ url }, response) => {
      paths.push(url);
      response.end('{"revoked":false}');
    });
    const { href } = await listen(service);
    const signing = await createSigning();
    const variables = {
      AUTH_URL: `${href}auth`,
      FLAGS_URL: href,
      ORIGIN_URL: href,
      TOKEN_KEYS: JSON.stringify(signing.keys),
    };
    const { gateway, stop } = await run({ ...variables, PORT: '0' }, () => {});
    const headers = { authorization: `Bearer ${await signing.sign('visitor')}` };
    const { status } = await fetch(new URL('/app/cart?a=1', gateway), { headers });
    await stop();
    await close(service);

    expect(status).toBe(200);
    expect(paths).toEqual(['/auth/revocations', '/v1/evaluate', '/app/cart?a=1']);
  });

  it.each([
    [{ PORT: 'x' }, 'PORT: a whole number from 0 to 65535, not "x".'],
    [{ PORT: '0', ORIGIN_URL: 'origin' }, 'ORIGIN_URL: an address such as http://127.0.0.1:8888, not "origin".'],
  ])('refuses %o', async (variables, message) => {
    await expect(run(variables, () => {})).rejects.toThrow(message);
  });

  it('names a port that is taken', async () => {
    const other = createServer();
    const { port } = await listen(other);
    await expect(run({ PORT: port }, () => {})).rejects.toThrow(`Port ${port} is taken.`);
    await close(other);
  });
});
