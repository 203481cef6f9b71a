import { subtotal, type Order, type OrderItem } from './order.js';

const FIRST_ID = 1001;
const ORDERS = 2000;
const PENDING = 8;

const CATALOG: readonly Omit<OrderItem, 'quantity'>[] = [
  { productId: 'tuna-flakes', price: 2.5 },
  { productId: 'salmon-pate', price: 3.25 },
  { productId: 'clumping-litter', price: 11.75 },
  { productId: 'scratching-post', price: 39.5 },
  { productId: 'feather-wand', price: 6 },
];

/** The same orders at every start, so that the documentation can name some: 1001 to 1008 are pending. */
export function sampleOrders(): Order[] {
  return Array.from({ length: ORDERS }, (_, index) => sampleOrder(index));
}

function sampleOrder(index: number): Order {
  const items = CATALOG.slice(0, 1 + (index % CATALOG.length)).map((product, position) => ({
    ...product,
    quantity: 1 + ((index + position) % 4),
  }));
  const order: Order = {
    id: String(FIRST_ID + index),
    userId: `user-${1 + (index % 250)}`,
    items,
    total: 0,
    status: index < PENDING ? 'pending' : index % 3 === 0 ? 'paid' : 'shipped',
  };
  return { ...order, total: subtotal(order) };
}
