// #region controller
import { Controller, Get, Param } from '@nestjs/common';
import { Budget } from '@nestjs/resilience';
import { ProductPageService } from './product-page.service.js';

@Controller('product-pages')
export class ProductPageController {
  constructor(private readonly pages: ProductPageService) {}

  @Get(':id')
  @Budget('1s') // also lets a client that leaves take its calls with it
  getPage(@Param('id') id: string) {
    return this.pages.build(id);
  }
}
// #endregion
