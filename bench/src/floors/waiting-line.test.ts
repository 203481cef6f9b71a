import { describe, expect, it } from 'vitest';
import { WaitingLine } from './waiting-line.js';

/** Work that ends when told to. */
function held(): { readonly work: () => Promise<void>; readonly end: () => void } {
  let end = (): void => {};
  const work = (): Promise<void> => new Promise((resolve) => (end = resolve));

  return { work, end: () => end() };
}

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn++) await null;
};

describe('a queue before one slot by hand', () => {
  it('runs calls one at a time, in the order in which they came', async () => {
    const line = new WaitingLine();
    const first = held();
    const ran: number[] = [];
    const calls = [line.run(first.work), ...[1, 2, 3].map((number) => line.run(async () => void ran.push(number)))];
    await turns();
    expect(ran).toEqual([]);

    first.end();
    await Promise.all(calls);
    expect(ran).toEqual([1, 2, 3]);
  });

  it('lets a caller leave from the middle by its signal, with the reason, and runs nothing for it', async () => {
    const line = new WaitingLine();
    const first = held();
    const controller = new AbortController();
    const ran: string[] = [];
    const running = line.run(first.work);
    const before = line.run(async () => void ran.push('before'));
    const leaving = line.run(async () => void ran.push('leaving'), controller.signal);
    const after = line.run(async () => void ran.push('after'));
    const reason = new Error('gone');
    controller.abort(reason);
    await expect(leaving).rejects.toBe(reason);

    first.end();
    await Promise.all([running, before, after]);
    expect(ran).toEqual(['before', 'after']);
  });

  it('is as new once all have had their turn', async () => {
    const line = new WaitingLine();
    const ran: string[] = [];
    await Promise.all([line.run(async () => {}), line.run(async () => void ran.push('then'))]);
    await Promise.all([line.run(async () => {}), line.run(async () => void ran.push('later'))]);

    expect(ran).toEqual(['then', 'later']);
  });

  it('passes the slot on when the work fails', async () => {
    const line = new WaitingLine();
    const failing = line.run(() => Promise.reject(new Error('down')));
    const next = line.run(async () => 'ran');

    await expect(failing).rejects.toThrow('down');
    await expect(next).resolves.toBe('ran');
  });

  it('does not wait for a caller whose signal has aborted before', async () => {
    await expect(new WaitingLine().run(async () => 1, AbortSignal.abort('gone'))).rejects.toBe('gone');
  });
});
