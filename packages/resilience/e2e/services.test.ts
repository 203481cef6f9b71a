import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { verdictOnProgram } from './fixtures/private-process.js';
import { SERVICES, verdictOn } from './fixtures/services.js';

const START = 'start-it --now';

async function onPort<T>(use: (port: number) => Promise<T>): Promise<{ readonly open: T; readonly closed: T }> {
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const open = await use(port);
  await new Promise((resolve) => server.close(resolve));

  return { open, closed: await use(port) };
}

describe('Tests that need a service', () => {
  it('run while it answers on its port, whatever the environment says', async () => {
    const lax = await onPort((port) => verdictOn('redis', { port, start: START }, {}));
    const strict = await onPort((port) => verdictOn('redis', { port, start: START }, { REQUIRE_SERVICES: '1' }));

    expect([lax.open, strict.open]).toEqual([{ run: true }, { run: true }]);
  });

  it('are skipped without it, by name and with the command that starts it', async () => {
    const { closed } = await onPort((port) => verdictOn('redis', { port, start: START }, {}));

    expect(closed).toMatchObject({ run: false, mustRun: false });
    expect(closed).toHaveProperty(
      'title',
      expect.stringMatching(/^needs redis on 127\.0\.0\.1:\d+; start it with: start-it --now$/),
    );
  });

  it.each([
    ['1', true],
    ['0', false],
    ['', false],
  ])('fail without it where REQUIRE_SERVICES is "1": "%s" means %s', async (value, mustRun) => {
    const { closed } = await onPort((port) => verdictOn('redis', { port, start: START }, { REQUIRE_SERVICES: value }));

    expect(closed).toMatchObject({ run: false, mustRun });
  });

  it('find the services where their packages put them', () => {
    expect(Object.values(SERVICES).map(({ port }) => port)).toEqual([6379, 4222, 5672, 1883]);
  });
});

describe('Tests that start a server by themselves', () => {
  it('run where it is installed', () => {
    expect(verdictOnProgram({ command: process.execPath, package: 'nodejs' }, {})).toEqual({ run: true });
    expect(verdictOnProgram({ command: 'sh', package: 'dash' }, { REQUIRE_SERVICES: '1' })).toEqual({ run: true });
  });

  it.each([
    ['1', true],
    ['', false],
  ])('are skipped without it, by name, and fail where REQUIRE_SERVICES is "1": "%s" means %s', (value, mustRun) => {
    const program = { command: 'no-such-server', package: 'no-such-package' };

    expect(verdictOnProgram(program, { REQUIRE_SERVICES: value })).toEqual({
      run: false,
      title: 'needs no-such-server; install it with: apt-get install -y no-such-package',
      mustRun,
    });
  });
});
