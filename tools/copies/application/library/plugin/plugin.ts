/** Another copy of this package, on the engine of the library. */
export { ResilienceContext as ContextOfPlugin } from '@nestjs/resilience';
