import { NotFoundException } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { OrdersService } from './orders.service.js';

describe('OrdersService', () => {
  let orders: OrdersService;

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
    orders = new OrdersService();
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  it('finds an order by its id', async () => {
    expect(await orders.findOne('1001')).toMatchObject({ id: '1001', status: 'pending' });
  });

  it('does not know every order', async () => {
    await expect(orders.findOne('1')).rejects.toThrow(NotFoundException);
    await expect(orders.update('1', { total: 1 })).rejects.toThrow('There is no order "1"');
  });

  it('changes what it is told, and nothing else', async () => {
    const before = await orders.findOne('1001');

    await orders.update('1001', { total: 99 });

    expect(await orders.findOne('1001')).toEqual({ ...before, total: 99 });
  });

  it('has eight pending orders among two thousand', async () => {
    const all = await orders.findAll();

    expect(all).toHaveLength(2000);
    expect(all.filter(({ status }) => status === 'pending')).toHaveLength(8);
  });

  it('exports every order, in two seconds', async () => {
    const done = vi.fn();
    const file = orders.exportCsv().finally(done);

    await vi.advanceTimersByTimeAsync(1999);
    expect(done).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);

    const lines = (await file).trimEnd().split('\n');
    expect(lines[0]).toBe('id,userId,status,items,total');
    expect(lines).toHaveLength(2001);
    expect(lines.at(-1)).toMatch(/^3000,/);
  });
});
