import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { run } from '../src/run.js';
import { close, listen } from '../src/stubs/listening.js';
import { SilentListener } from '../src/stubs/silent-listener.js';

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
const blocks = [...readme.matchAll(/^```(\w+)\n(.*?)^```$/gms)];
const commands = textOf('sh').filter((line) => line.includes('npm start'));
/** What is printed where it is printed, without what the machine makes of it. */
const [story = [], refusal = []] = blocks
  .filter(([, language]) => language === 'text')
  .map(([, , text = '']) => shapeOf(text));

function textOf(wanted: string): string[] {
  return blocks.filter(([, language]) => language === wanted).flatMap(([, , text = '']) => text.trimEnd().split('\n'));
}

/** The lines that tell what happens; not those of single seconds, and no figures of this machine. */
function shapeOf(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => !/^ +\d/.test(line) && !line.includes('The slowest took') && line !== '')
    .map((line) =>
      line.replace(/:\d{4,5}\b/g, ':PORT').replace(/\d+ calls, all answered\. Attempts cut: \d+/, 'SUMMARY'),
    );
}

/** The variables before a command, as a shell reads them. */
function environmentOf(command: string): NodeJS.ProcessEnv {
  return Object.fromEntries([...command.matchAll(/(\w+)=(\S+)/g)].map(([, name = '', value]) => [name, value]));
}

async function output(environment: NodeJS.ProcessEnv, secondMs: number): Promise<{ code: number; lines: string[] }> {
  const printed: string[] = [];
  const code = await run(environment, { print: (line) => void printed.push(line), secondMs });

  return { code, lines: printed.join('\n').split('\n') };
}

describe('the README', () => {
  it('gives three commands', () => {
    expect(commands.map(environmentOf)).toEqual([{}, { PORT: '8080' }, { UPSTREAM_URL: 'http://127.0.0.1:9' }]);
  });

  // Time is real: a machine that holds every process up for longer than a limit costs calls that are good.
  it('shows what the story prints', { retry: 2, timeout: 40_000 }, async () => {
    const { code, lines } = await output(environmentOf(commands[0] ?? ''), 250);

    expect(shapeOf(lines.join('\n'))).toEqual(story);
    expect(lines.filter((line) => /^ +\d+ +\d+ .*ms$/.test(line))).toHaveLength(24);
    expect(code).toBe(0);
  });

  it('shows what a server that nobody runs leads to: its real error, and exit code 1', async () => {
    const [command = ''] = commands.slice(-1);
    const main = fileURLToPath(new URL('../dist/main.js', import.meta.url));
    const ended = await new Promise<{ code: unknown; stdout: string }>((resolve) => {
      const env = { ...process.env, ...environmentOf(command) };
      execFile(process.execPath, [main], { env }, (error, stdout) => resolve({ code: error?.code ?? 0, stdout }));
    });

    expect(shapeOf(ended.stdout)).toEqual(refusal);
    expect(ended.code).toBe(1);
  });
});

describe('with an upstream of one’s own', () => {
  let stop: (() => Promise<void>) | undefined;

  afterEach(() => stop?.());

  it('calls that for ten seconds', async () => {
    const paths = new Set<string | undefined>();
    const server = createServer((request, response) => {
      paths.add(request.url);
      response.end('answer');
    });
    stop = () => close(server, () => server.closeAllConnections());
    const { href } = new URL('/quotes', await listen(server));
    const { code, lines } = await output({ UPSTREAM_URL: href }, 50);

    expect(code).toBe(0);
    expect(lines[0]).toBe(`Calls ${href} for 10 seconds, one call after another, up to four attempts each.`);
    expect(lines.filter((line) => /^ +\d+ +\d+ .*ms$/.test(line))).toHaveLength(10);
    expect([...paths]).toEqual(['/quotes']);
  });

  it('gives up with a timeout when that never speaks', async () => {
    const silent = new SilentListener();
    stop = () => close(silent.server, () => silent.hangUp());
    const { href } = await listen(silent.server);
    const { code, lines } = await output({ UPSTREAM_URL: href }, 50);
    await silent.deserted();

    expect(code).toBe(1);
    expect(lines.at(-1)).toBe('No attempt is left. The last one failed: ResilienceTimeoutError: Timed out after 500ms');
    expect(silent.sockets).toEqual({ opened: 4, closed: 4 });
  });
});

describe('a port that cannot be had', () => {
  it('is named, with what to do', async () => {
    const server = createServer();
    const { port } = await listen(server);
    const { code, lines } = await output({ PORT: port }, 50);
    await close(server, () => server.closeAllConnections());

    expect(lines).toEqual([`Port ${port} is taken. Set PORT to another one, or to 0 for any free port.`]);
    expect(code).toBe(1);
  });

  it('is named when it is none', async () => {
    expect(await output({ PORT: 'x' }, 50)).toEqual({
      code: 1,
      lines: ['PORT: a whole number from 0 to 65535, not "x".'],
    });
  });
});
