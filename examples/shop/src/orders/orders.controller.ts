// #region bulkhead
import { Controller, Get, Header, Param } from '@nestjs/common';
import { Bulkhead } from '@nestjs/resilience';
import type { Order } from './order.js';
import { OrdersService } from './orders.service.js';

@Controller('orders')
export class OrdersController {
  constructor(private readonly ordersService: OrdersService) {}

  @Get('export')
  @Header('Content-Type', 'text/csv')
  @Bulkhead({ maxConcurrent: 2, maxQueue: 3, queueTimeout: '10s' })
  export(): Promise<string> {
    return this.ordersService.exportCsv();
  }

  @Get(':id')
  findOne(@Param('id') id: string): Promise<Order> {
    return this.ordersService.findOne(id);
  }
}
// #endregion
