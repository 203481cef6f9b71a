export interface OrderItem {
  readonly productId: string;
  readonly quantity: number;
  readonly price: number;
}

export interface Order {
  readonly id: string;
  readonly userId: string;
  readonly items: readonly OrderItem[];
  readonly total: number;
  readonly status: 'pending' | 'paid' | 'shipped';
}

/** What the items cost, without shipping. */
export function subtotal(order: Order): number {
  return order.items.reduce((sum, { price, quantity }) => sum + price * quantity, 0);
}
