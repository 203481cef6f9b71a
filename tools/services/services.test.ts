import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { SERVICES, verdictOn } from './services.js';

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
    expect(Object.values(SERVICES).map(({ port }) => port)).toEqual([6379, 4222, 5672, 1883, 5432]);
  });
});
