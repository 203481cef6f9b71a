import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { beforeAll, describe, expect, it } from 'vitest';

const MOVABLE_DATE = `
  const RealDate = globalThis.Date;
  let offset = 0;
  globalThis.Date = class Date extends RealDate {
    constructor(...given) {
      if (given.length === 0) super(RealDate.now() + offset);
      else super(...given);
    }
    static now() {
      return RealDate.now() + offset;
    }
  };
  globalThis.stepWallClock = (milliseconds) => (offset += milliseconds);
`;

/** Runs a file with the sources of the engine as a process whose wall clock can be moved. */
async function runOnMovableWallClock(file: string): Promise<Record<string, unknown>> {
  const { outputFiles } = await build({
    entryPoints: [file],
    bundle: true,
    write: false,
    platform: 'node',
    format: 'esm',
    conditions: ['@holdfast/source', 'node', 'import'],
    tsconfigRaw: {},
  });
  const preload = `data:text/javascript,${encodeURIComponent(MOVABLE_DATE)}`;
  const child = spawn(process.execPath, ['--import', preload, '--input-type=module'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(outputFiles[0]?.text);

  return JSON.parse(await text(child.stdout)) as Record<string, unknown>;
}

describe('a wall clock that jumps an hour, ahead and back', () => {
  let seen: Record<string, unknown>;
  beforeAll(async () => {
    seen = await runOnMovableWallClock(fileURLToPath(new URL('../test/wall-clock-scenario.ts', import.meta.url)));
  }, 30_000);

  it('moves no limit, and makes none look as if the event loop had been held', () => {
    const onTime = { code: 'TIMEOUT', inTime: true, counted: 1 };

    expect(seen.limit).toEqual([onTime, onTime]);
  });

  it('neither ends nor prolongs the time for which a breaker is open', () => {
    expect(seen.openDuration).toEqual([
      ['open', 'half-open'],
      ['open', 'half-open'],
    ]);
  });

  it('empties no window', () => {
    expect(seen.timeWindow).toEqual([
      [4, 'open'],
      [4, 'open'],
    ]);
  });

  it('neither makes tokens nor withholds them', () => {
    expect(seen.tokens).toEqual([
      [0, 1],
      [0, 1],
    ]);
  });

  it('moves the dates of Retry-After with it', () => {
    expect(seen.retryAfterDate).toEqual([true, true]);
  });
});
