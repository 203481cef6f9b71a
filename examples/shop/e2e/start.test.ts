import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { whatToTry } from '../src/launch/what-to-try.js';
import { ShopProcesses } from '../src/walkthrough/shop-processes.js';

const STARTING_MS = 30_000;
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
    processes = new ShopProcesses(environment);
    const code = await processes.exit();
    return { code, output: processes.log.lines.join('\n') };
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
      const outputs = [quotes, query, message, hang, ...rest.reverse()].map(run);

      await vi.waitFor(() => expect(processes?.log.lines).toEqual(expect.arrayContaining(printed)));
      expect(outputs).toEqual([
        expect.stringContaining('"service":"ground"'),
        expect.stringContaining('{"data":{"shippingQuotes":[{"service":"ground","price":6.9}'),
        expect.stringMatching(/^\[\{"service":"ground",.*\}\]\n$/),
        '{"mode":"hang"}',
        '{"mode":"answer"}',
        expect.stringMatching(/^(?:(?:200|503) after \S+ s\n){8}$/),
        expect.stringMatching(/^(?:(?:200|503) after \S+ s\n){6}$/),
        expect.stringContaining('"status":"pending"'),
        '{"repriced":8}',
        expect.stringContaining('"trackingNumber":"CAT000001"'),
        expect.stringContaining('"cancelled":0'),
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
