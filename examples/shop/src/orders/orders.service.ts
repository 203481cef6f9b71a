import { Injectable, NotFoundException } from '@nestjs/common';
import { CSV_HEADER, csvLine } from './order-csv.js';
import type { Order } from './order.js';
import { sampleOrders } from './sample-orders.js';

const PAGE_SIZE = 100;
/** One round trip to the database that the map below stands in for: 20 pages make an export of two seconds. */
const PAGE_READ_MS = 100;

@Injectable()
export class OrdersService {
  private readonly orders = new Map(sampleOrders().map((order) => [order.id, order]));

  async findOne(id: string): Promise<Order> {
    const order = this.orders.get(id);

    if (!order) {
      throw new NotFoundException(`There is no order "${id}"`);
    }
    return order;
  }

  async findAll(): Promise<Order[]> {
    return [...this.orders.values()];
  }

  async update(id: string, changes: Partial<Omit<Order, 'id'>>): Promise<Order> {
    const updated = { ...(await this.findOne(id)), ...changes };
    this.orders.set(id, updated);
    return updated;
  }

  /** Reads every order, a page at a time, and answers with the whole file. */
  async exportCsv(): Promise<string> {
    const lines = [CSV_HEADER];
    for (let start = 0; start < this.orders.size; start += PAGE_SIZE) {
      const page = await this.readPage(start);
      lines.push(...page.map(csvLine));
    }
    return `${lines.join('\n')}\n`;
  }

  private async readPage(start: number): Promise<Order[]> {
    await new Promise((resolve) => setTimeout(resolve, PAGE_READ_MS));
    return [...this.orders.values()].slice(start, start + PAGE_SIZE);
  }
}
