import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { whatToTry } from '../src/launch/what-to-try.js';
import { ShopProcesses } from '../src/walkthrough/shop-processes.js';

/** The first start makes a database, which takes seconds on a machine that has other work. */
const STARTING_MS = 60_000;
const hasCurl = spawnSync('curl', ['--version']).status === 0;

function run(command: string): string {
  return execFileSync('sh', ['-c', command], {
    encoding: 'utf8',
    timeout: 20_000,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}

describe('npm start', () => {
  let processes: ShopProcesses | undefined;
  let blocker: Server | undefined;

  afterEach(async () => {
    await processes?.stop();
    blocker?.close();
    processes = blocker = undefined;
  });

  async function takenPort(host?: string): Promise<string> {
    blocker = createServer();
    blocker.listen(0, host);
    await once(blocker, 'listening');
    return String((blocker.address() as AddressInfo).port);
  }

  async function outputOf(environment: Record<string, string>): Promise<{ code: number | null; output: string }> {
    const started = new ShopProcesses(environment);
    processes ??= started;
    const code = await started.exit();
    return { code, output: started.log.lines.join('\n') };
  }

  it.each(['SIGINT', 'SIGTERM'] as const)(
    'ends the shop and the stub on %s, hanging calls included',
    async (signal) => {
      processes = new ShopProcesses();
      const { shopUrl, carrierUrl } = await processes.addresses();
      await fetch(`${carrierUrl}/mode`, { method: 'POST', body: '{"mode":"hang"}' });
      const quotes = fetch(`${shopUrl}/shipping/quotes?orderId=1001`).catch(() => undefined);

      expect(await processes.stop(signal)).toBe(0);
      await quotes;
      await expect(fetch(shopUrl)).rejects.toThrow('fetch failed');
      await expect(fetch(carrierUrl)).rejects.toThrow('fetch failed');
    },
    STARTING_MS,
  );

  it.runIf(hasCurl)(
    'prints commands that work as they stand',
    async () => {
      processes = new ShopProcesses();
      const printed = whatToTry(await processes.addresses())
        .split('\n')
        .filter((line) => line.startsWith('  '));
      const [quotes = '', query = '', message = '', hang = '', ...rest] = printed;
      // The command that ends the trouble comes last; the ones between need a carrier that answers.
      const [answer = '', ...others] = [...rest.slice(-1), ...rest.slice(0, -1)];
      const outputs = [quotes, query, message, hang, answer, ...others].map(run);

      await vi.waitFor(() => expect(processes?.log.lines).toEqual(expect.arrayContaining(printed)));
      expect(outputs).toEqual([
        expect.stringContaining('"service":"ground"'),
        expect.stringContaining('{"data":{"shippingQuotes":[{"service":"ground","price":6.9}'),
        expect.stringMatching(/^\[\{"service":"ground",.*\}\]\n$/),
        '{"mode":"hang"}',
        '{"mode":"answer"}',
        expect.stringContaining('"cancelled":0'),
        expect.stringContaining('"trackingNumber":"CAT000001"'),
        expect.stringContaining('"code":"IDEMPOTENCY_KEY_REUSED"'),
        '{"repriced":8}',
        expect.stringContaining('"status":"pending"'),
        expect.stringMatching(/^(?:(?:200|503) after \S+ s\n){6}$/),
        expect.stringMatching(/^(?:(?:200|503) after \S+ s\n){8}$/),
      ]);
    },
    STARTING_MS * 2,
  );

  it(
    'names the variable to set when the port of the shop is taken',
    async () => {
      const PORT = await takenPort();

      expect(await outputOf({ PORT })).toMatchObject({
        code: 1,
        output: expect.stringContaining(`Port ${PORT} is taken. Set PORT to another one, or to 0 for any free port.`),
      });
    },
    STARTING_MS,
  );

  it(
    'names the variable to set when the port of the stub is taken',
    async () => {
      const CARRIER_PORT = await takenPort('127.0.0.1');

      expect(await outputOf({ CARRIER_PORT })).toEqual({
        code: 1,
        output: `Port ${CARRIER_PORT} is taken. Set CARRIER_PORT to another one, or to 0 for any free port.`,
      });
    },
    STARTING_MS,
  );

  it.each(['abc', '70000', '-1', '3000.5', ''])(
    'refuses "%s" as a port',
    async (PORT) => {
      expect(await outputOf({ PORT })).toEqual({
        code: 1,
        output: `PORT: a whole number from 0 to 65535, not "${PORT}".`,
      });
    },
    STARTING_MS,
  );

  it(
    'asks for one place of keys, when a database and a Redis are named',
    async () => {
      const { code, output } = await outputOf({
        KEYS_FOLDER: '',
        DATABASE_URL: 'postgres://localhost/shop',
        REDIS_URL: 'redis://localhost',
      });

      expect({ code, output }).toEqual({
        code: 1,
        output: 'DATABASE_URL and REDIS_URL are set, but keys are kept in one place. Unset all but one.',
      });
    },
    STARTING_MS,
  );

  it(
    'says where its keys are, and who has them when another shop wants them too',
    async () => {
      processes = new ShopProcesses();
      await processes.addresses();
      const KEYS_FOLDER = await processes.log.match(/^Idempotency keys: (.+)$/);
      const { code, output } = await outputOf({ KEYS_FOLDER });

      expect(code).toBe(1);
      expect(output).toMatch(
        /^The keys in \S+ belong to a shop that runs already \(process \d+\)\. Set KEYS_FOLDER to /,
      );
    },
    STARTING_MS,
  );

  it(
    'does not start with keys that cannot be read, and says what to do',
    async () => {
      const KEYS_FOLDER = await mkdtemp(join(tmpdir(), 'holdfast-damaged-'));
      await mkdir(join(KEYS_FOLDER, 'database'));
      await writeFile(join(KEYS_FOLDER, 'database/PG_VERSION'), 'nonsense');
      const { code, output } = await outputOf({ KEYS_FOLDER });
      await rm(KEYS_FOLDER, { recursive: true });

      expect(code).toBe(1);
      expect(output).toContain(`The keys in ${KEYS_FOLDER} cannot be opened: `);
      expect(output).toContain('Or delete this one: then requests that are repeated run a second time.');
    },
    STARTING_MS,
  );

  it(
    'does not start with an openDuration that is no duration, and names the option',
    async () => {
      const { code, output } = await outputOf({ OPEN_DURATION: '30 seconds' });

      expect(code).toBe(1);
      expect(output).toContain('presets.carrier.circuitBreaker.openDuration');
      expect(output).toContain('30 seconds');
    },
    STARTING_MS,
  );
});
