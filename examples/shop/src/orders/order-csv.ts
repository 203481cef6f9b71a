import type { Order } from './order.js';

export const CSV_HEADER = 'id,userId,status,items,total';

export function csvLine(order: Order): string {
  const items = order.items.map(({ quantity, productId }) => `${quantity} x ${productId}`).join(', ');
  return [order.id, order.userId, order.status, items, order.total.toFixed(2)].map(csvField).join(',');
}

function csvField(value: string): string {
  return /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}
