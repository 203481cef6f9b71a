import type { Binding } from 'holdfast/nest';

/** From where the packages are found that an application need not have. */
export const binding: Binding = { name: '@nestjs/idempotency', url: import.meta.url };
