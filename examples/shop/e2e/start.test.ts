import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { whatToTry } from '../src/launch/what-to-try.js';
import { ShopProcesses } from '../src/walkthrough/shop-processes.js';
import { buildShop } from './build-shop.js';

const STARTING_MS = 30_000;
const hasCurl = spawnSync('curl', ['--version']).status === 0;

describe('npm start', () => {
  let processes: ShopProcesses | undefined;
  let blocker: Server | undefined;

  beforeAll(buildShop, 180_000);

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
      processes = new ShopProcesses({ OPEN_DURATION: '1s' });
      const addresses = await processes.addresses();
      const commands = whatToTry(addresses)
        .split('\n')
        .filter((line) => line.startsWith('  '));

      const outputs = commands.map((command) =>
        execFileSync('sh', ['-c', command.replaceAll('curl ', 'curl --fail-with-body --silent ')], {
          encoding: 'utf8',
          timeout: 20_000,
        }),
      );

      expect(processes.log.lines).toEqual(expect.arrayContaining(commands));
      expect(commands).toHaveLength(9);
      expect(outputs[0]).toContain('"service":"ground"');
      expect(outputs[1]).toContain('{"mode":"hang"}');
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
