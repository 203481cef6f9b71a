import { DeadlineExceededError } from 'holdfast';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { liveQuotes, scriptCarrier } from './carrier.js';
import { budgetOf, getPage, getPageInTurn, getQuotes, getQuotesQuickly, headersOfCall } from './deadlines.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
afterEach(() => {
  vi.useRealTimers();
});

describe('the page on deadlines shows', () => {
  it('a budget over two attempts and the wait between them', async () => {
    const carrier = scriptCarrier([{ hang: true }]);
    const quotes = getQuotes('1001').catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(2_999);
    expect(carrier.calls.map(({ state }) => state)).toEqual(['cancelled', 'running']);
    await vi.advanceTimersByTimeAsync(1);

    expect(await quotes).toBeInstanceOf(DeadlineExceededError);
    expect(carrier.calls.map(({ state }) => state)).toEqual(['cancelled', 'cancelled']);
  });

  it('calls that inherit the budget of what they are part of', async () => {
    const carrier = scriptCarrier([{ hang: true }]);
    const page = getPage().catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(1_000);

    expect(await page).toMatchObject({ code: 'DEADLINE_EXCEEDED', policy: 'page' });
    expect(carrier.calls.map(({ reason }) => reason)).toEqual([await page, await page]);
  });

  it('a budget for one call', async () => {
    scriptCarrier([{ hang: true }]);
    const quotes = getQuotesQuickly('1001').catch(String);
    await vi.advanceTimersByTimeAsync(500);

    expect(await quotes).toBe('DeadlineExceededError: Not answered within the budget of 500ms');
  });

  it('headers that are read and written', async () => {
    expect(budgetOf({ 'x-request-timeout-ms': '300' })).toBe(300);
    expect(budgetOf({ 'x-request-timeout-ms': '99999' })).toBe(2_000);
    expect(budgetOf({ 'x-request-timeout-ms': '1e9' })).toBe(2_000);
    expect(budgetOf({})).toBe(2_000);
    expect(await headersOfCall()).toEqual({ 'x-request-timeout-ms': '1000' });
  });

  it('limits that add up', async () => {
    scriptCarrier([
      { answer: [], after: '900ms' },
      { answer: liveQuotes, after: '900ms' },
    ]);
    const quotes = getPageInTurn();
    await vi.advanceTimersByTimeAsync(1_800);

    expect(await quotes).toBe(liveQuotes);
  });
});
