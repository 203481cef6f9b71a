import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it, vi } from 'vitest';

const STARTING_MS = 60_000;
const hasCurl = spawnSync('curl', ['--version']).status === 0;
const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
const start = fileURLToPath(new URL('../dist/launch/start.js', import.meta.url));

/** The lines of all blocks in this language. */
function linesOf(language: string): string[] {
  const blocks = readme.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'gms'));

  return [...blocks].flatMap(([, content = '']) => content.trimEnd().split('\n'));
}

let child: ChildProcess | undefined;

afterEach(async () => {
  if (child?.exitCode === null && child.signalCode === null) {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  child = undefined;
});

/** What the started process has written so far. */
class Output {
  text = '';
  readonly add = (chunk: Buffer): void => void (this.text += chunk.toString());
}

function run(environment: Readonly<Record<string, string>>): Output {
  const output = new Output();
  child = spawn(process.execPath, [start], { env: { ...process.env, NO_COLOR: '1', ...environment } });
  child.stdout?.on('data', output.add);
  child.stderr?.on('data', output.add);

  return output;
}

async function listening(output: Output): Promise<void> {
  await vi.waitFor(() => expect(output.text).toContain('Ctrl+C ends it.'), { timeout: STARTING_MS / 2, interval: 50 });
}

/** Below the ports that systems hand out by themselves, which others on a busy machine have. */
const PORTS = { from: 20_000, to: 32_000 } as const;

/** The first of four ports in a row that were free a moment ago; the README's may be taken. */
async function freePorts(): Promise<number> {
  for (;;) {
    const first = PORTS.from + Math.floor(Math.random() * (PORTS.to - PORTS.from));
    const areFree = await Promise.all([first, first + 1, first + 2, first + 3].map(isFree));
    if (areFree.every(Boolean)) return first;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  const isOpen = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  server.close();

  return isOpen;
}

function shell(command: string): Promise<string> {
  return new Promise((resolve) => {
    execFile('sh', ['-c', command.replace('curl ', 'curl -s ')], (_error, stdout) => resolve(stdout));
  });
}

describe('the README', () => {
  it.runIf(hasCurl)(
    'is right about its commands, as they stand, and about what the log has',
    { retry: 3, timeout: STARTING_MS * 2 },
    async () => {
      const port = await freePorts();
      const output = run({ PORT: String(port) });
      await listening(output);
      const outputs: string[] = [];
      for (const line of linesOf('sh').filter((one) => one.startsWith('curl'))) {
        outputs.push(await shell(line.replaceAll(/3930(\d)/g, (_all, nth: string) => String(port + Number(nth)))));
      }
      const [json = ''] = linesOf('json');

      expect(outputs).toEqual([
        expect.stringMatching(/^HTTP\/1.1 200[^]*"degraded":\[\]\}$/),
        expect.stringContaining('"mode":"hang"'),
        expect.stringMatching(/X-Degraded: reviews=upstream_timeout;300\r\n[^]*no-store/i),
        expect.stringContaining('"mode":"trickle"'),
        json,
        '{"mode":"trickle","asked":3,"cutOff":2}',
        expect.stringContaining('"mode":"slow"'),
        expect.stringMatching(/^HTTP\/1.1 502[^]*"message":"catalog unavailable"/),
        expect.stringContaining('"mode":"missing"'),
        expect.stringMatching(/^HTTP\/1.1 404/),
        expect.stringContaining('"mode":"hang"'),
        '',
        expect.stringMatching(/^\{"mode":"hang","asked":\d+,"cutOff":2\}$/),
      ]);
      expect(outputs[2]).toContain(json);
      const [warning = '', line = ''] = linesOf('text');
      expect(output.text).toMatch(new RegExp(`WARN.*\\[ProductPageController\\] ${warning}`));
      expect(output.text).toMatch(
        new RegExp(`LOG.*\\[HTTP\\] ${line.replaceAll(/[[\]]/g, '\\$&').replace('312ms', '\\d+ms')}`),
      );
    },
  );
});

describe('npm start', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)('ends on %s', { timeout: STARTING_MS }, async (signal) => {
    const output = run({ PORT: '0' });
    await listening(output);
    const ended = once(child as ChildProcess, 'exit');
    child?.kill(signal);

    expect(await ended).toEqual([0, null]);
  });

  it('asks services of one’s own, below the paths of their addresses', { timeout: STARTING_MS }, async () => {
    const paths: (string | undefined)[] = [];
    const own = createHttpServer(({ url }, response) => {
      paths.push(url);
      response.end('{"id":"of my own"}');
    }).listen(0, '127.0.0.1');
    await once(own, 'listening');
    const origin = `http://127.0.0.1:${(own.address() as AddressInfo).port}`;
    const output = run({
      PORT: '0',
      CATALOG_URL: origin,
      REVIEWS_URL: `${origin}/reviews/`,
      RECOMMENDATIONS_URL: `${origin}/v1`,
    });
    await listening(output);
    const url = /Product page: (\S+)/.exec(output.text)?.[1] ?? '';
    const page = await (await fetch(`${url}/product-pages/7`)).text();
    own.closeAllConnections();
    own.close();

    expect(page).toContain('"product":{"id":"of my own"}');
    expect(paths.toSorted()).toEqual(['/products/7', '/reviews/products/7/summary', '/v1/products/7/similar']);
    expect(output.text).not.toContain('Stub of');
  });

  it('says which variable is wrong', { timeout: STARTING_MS }, async () => {
    const output = run({ PORT: 'abc' });

    expect(await once(child as ChildProcess, 'close')).toEqual([1, null]);
    expect(output.text).toBe('PORT: a whole number from 0 to 65532, not "abc".\n');
  });

  it('says what to do about a port that is taken', { timeout: STARTING_MS }, async () => {
    const blocker = createServer();
    blocker.listen(0, '127.0.0.1');
    await once(blocker, 'listening');
    const { port } = blocker.address() as AddressInfo;
    const output = run({ PORT: String(port - 1) });

    expect(await once(child as ChildProcess, 'close')).toEqual([1, null]);
    expect(output.text).toContain(`Port ${port} is taken. Set PORT to another one, or to 0.`);
    blocker.close();
  });
});
