import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { fileURLToPath } from 'node:url';
import { text } from 'node:stream/consumers';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startHomeService, type HomeService } from '../src/launch/home-service.js';
import { logMissingParts } from '../src/launch/log.js';
import { whatToTry } from '../src/launch/what-to-try.js';
import { close, listen } from '../src/listening.js';
import { measure } from '../src/measure/measure.js';
import { renderTable } from '../src/measure/table.js';
import { warmUp } from '../test/home-on-sockets.js';

const STARTING_MS = 60_000;
/** How late a busy machine may be. */
const SLACK_MS = 5_000;
const hasCurl = spawnSync('curl', ['--version']).status === 0;
const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

function block(language: string): string {
  return new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'ms').exec(readme)?.[1]?.trimEnd() ?? '';
}

/** Without the figures of this machine, and what columns are as wide as. */
const shapeOf = (table: string): string => table.replace(/\d+ ms/g, 'N ms').replace(/ +/g, ' ');

let service: HomeService | undefined;
let server: Server | undefined;

afterEach(async () => {
  await service?.close();
  if (server !== undefined) await close(server);
  service = server = undefined;
});

beforeAll(warmUp);

describe('the measurement', () => {
  // Real time: a machine that holds a stub up for longer than a limit costs a part that is good.
  it('finds what the README shows, and every condition holds', { retry: 2, timeout: STARTING_MS }, async () => {
    const rows = await measure({ slackMs: SLACK_MS });

    expect(rows.filter(({ holds }) => !holds)).toEqual([]);
    expect(shapeOf(renderTable(rows))).toBe(shapeOf(block('text')));
  });

  it(
    'ends with 1 when a condition does not hold, as on a busy machine, and with 0 otherwise',
    async () => {
      const main = at('../dist/measure/main.js');
      const ended = await new Promise<{ code: unknown; stdout: string }>((resolve) => {
        execFile(process.execPath, [main], (error, stdout) => resolve({ code: error?.code ?? 0, stdout }));
      });

      expect(ended.stdout).toMatch(/^row .*\n1 /);
      expect(ended.code).toBe(/ NO$/m.test(ended.stdout) ? 1 : 0);
    },
    STARTING_MS,
  );
});

describe('the README', () => {
  it('shows the answer of the page', { retry: 2 }, async () => {
    service = await startHomeService({ port: 0, origins: {} });
    const [, ...lines] = block('http').split('\n');
    const answer = await fetch(`${service.url}/api/home`);
    const body = await answer.text();
    const headers = lines.slice(0, lines.indexOf('')).map((line) => line.split(': '));

    expect(answer.status).toBe(200);
    expect(body).toBe(lines.at(-1));
    for (const [name = '', value = ''] of headers) {
      const shown = answer.headers.get(name)?.replace(/;\d+$/, ';400');
      expect(`${name}: ${shown}`).toBe(`${name}: ${value}`);
    }
  });

  it.runIf(hasCurl)(
    'is right that the printed commands work as they stand',
    { retry: 2, timeout: STARTING_MS },
    async () => {
      service = await startHomeService({ port: 0, origins: {} });
      const commands = whatToTry(service)
        .split('\n')
        .filter((line) => line.startsWith('  '));
      const outputs: string[] = [];
      // The server is in this process: it must not be held up meanwhile.
      for (const command of commands) outputs.push(await shell(command));

      expect(outputs).toEqual([
        expect.stringMatching(/HTTP\/1\.1 200 OK[^]*no-store[^]*"degraded":\[\{"key":"coupon","reason":"timeout"\}\]/),
        expect.stringContaining('"inFlight":0,"done":0}'),
        '  http_code=000\n',
        expect.stringContaining('"degraded":[{"key":"coupon","reason":"error"}],"partial":true'),
        expect.stringContaining('"coupon":{"count":2}},"degraded":[],"partial":false'),
        expect.stringMatching(/HTTP\/1\.1 502[^]*\{"error":"unavailable","key":"user","reason":"error"\}$/),
      ]);
    },
  );
});

describe('with services of one’s own', () => {
  it('asks those, below their paths, and stands in for the others', async () => {
    const paths: (string | undefined)[] = [];
    server = createServer(({ url }, response) => {
      paths.push(url);
      response.end('{"count":7}');
    });
    const origin = await listen(server);
    service = await startHomeService({ port: 0, origins: { order: `${origin}/`, coupon: `${origin}/v1/` } });
    const page = await (await fetch(`${service.url}/api/home`)).text();

    expect(service.stubs.map(({ name }) => name)).toEqual(['user']);
    expect(paths.toSorted()).toEqual(['/order', '/v1/coupon']);
    expect(page).toContain('"order":{"count":7},"coupon":{"count":7}},"degraded":[]');
    expect(whatToTry(service)).not.toContain('fail, which');
  });

  it('tells the log of the server what it does not tell clients', async () => {
    const lines: string[] = [];
    const stop = logMissingParts((line) => lines.push(line));
    server = createServer((_request, response) => response.end('<html>'));
    const origin = await listen(server);
    const origins = { user: origin, order: origin, coupon: origin };
    service = await startHomeService({ port: 0, origins });
    const page = await (await fetch(`${service.url}/api/home`)).text();
    stop();

    expect(page).toBe('{"error":"unavailable","key":"user","reason":"error"}');
    expect(lines[0]).toMatch(/^user: upstream_error after \d+ ms \(FetchFailedError: .*: SyntaxError: .*<html>/);
  });
});

describe('npm start', () => {
  let child: ChildProcess | undefined;

  afterEach(() => child?.kill('SIGKILL'));

  it('prints the address, serves, and ends on SIGTERM with requests in flight', { timeout: STARTING_MS }, async () => {
    const started = spawn(process.execPath, [at('../dist/launch/start.js')], { env: { ...process.env, PORT: '0' } });
    child = started;
    const [printed] = (await once(started.stdout, 'data')) as [Buffer];
    const url = /Home: (\S+)/.exec(String(printed))?.[1] ?? '';

    expect(await (await fetch(`${url}/nowhere`)).text()).toBe('{"error":"not_found","path":"/nowhere"}');
    const naive = fetch(`${url}/api/home-naive`).catch(() => 'hung up');
    started.kill('SIGTERM');
    await once(started, 'exit');
    expect(await naive).toBe('hung up');
  });

  it('names the variable to set when the port is taken', { timeout: STARTING_MS }, async () => {
    server = createServer();
    const { port } = new URL(await listen(server));
    const started = spawn(process.execPath, [at('../dist/launch/start.js')], { env: { ...process.env, PORT: port } });
    child = started;
    const [errors, [code]] = await Promise.all([text(started.stderr), once(started, 'exit')]);

    expect(errors).toBe(`Port ${port} is taken. Set PORT to another one, or to 0 for any free port.\n`);
    expect(code).toBe(1);
  });
});

function shell(command: string): Promise<string> {
  return new Promise((resolve) => {
    execFile('sh', ['-c', command], { encoding: 'utf8', timeout: 20_000 }, (_error, stdout) => resolve(stdout));
  });
}
