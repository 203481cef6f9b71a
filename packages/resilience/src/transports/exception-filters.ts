import 'reflect-metadata';
import type { ExecutionContext } from '@nestjs/common';

const FILTERS = '__exceptionFilters__';
const CAUGHT = '__filterCatchExceptions__';

/** Whether a filter that stands on a gateway or its handler catches this error. Global ones do not reach gateways. */
export function isCaughtByFilter(error: unknown, context: ExecutionContext): boolean {
  return [context.getHandler(), context.getClass()].some((place) =>
    filtersOn(place).some((filter) => catches(filter, error)),
  );
}

/** Contexts made by other packages need not have a class or a handler. */
function filtersOn(place: unknown): readonly unknown[] {
  if (typeof place !== 'function') return [];

  const filters: unknown = Reflect.getMetadata(FILTERS, place);

  return Array.isArray(filters) ? filters : [];
}

/** Filters are given as classes or as instances; without classes of errors in `@Catch()` they catch all. */
function catches(filter: unknown, error: unknown): boolean {
  const cls = typeof filter === 'function' ? filter : (filter as object).constructor;
  const caught: unknown = Reflect.getMetadata(CAUGHT, cls);
  if (!Array.isArray(caught) || caught.length === 0) return true;

  return caught.some((type) => typeof type === 'function' && error instanceof type);
}
