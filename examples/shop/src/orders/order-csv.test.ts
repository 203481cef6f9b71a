import { describe, expect, it } from 'vitest';
import { csvLine } from './order-csv.js';
import { subtotal, type Order } from './order.js';

const order: Order = {
  id: '1',
  userId: 'user-1',
  items: [
    { productId: 'tuna-flakes', quantity: 2, price: 2.5 },
    { productId: 'feather-wand', quantity: 1, price: 6 },
  ],
  total: 11,
  status: 'paid',
};

describe('An order', () => {
  it('costs what its items cost', () => {
    expect(subtotal(order)).toBe(11);
  });

  it('is one line of the file, with a comma inside quotes', () => {
    expect(csvLine(order)).toBe('1,user-1,paid,"2 x tuna-flakes, 1 x feather-wand",11.00');
  });

  it('keeps quotes and line breaks readable for a spreadsheet', () => {
    expect(csvLine({ ...order, userId: 'a "b"\nc', items: [] })).toBe('1,"a ""b""\nc",paid,,11.00');
  });
});
