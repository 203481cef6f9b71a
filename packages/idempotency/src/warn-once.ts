import { log } from './log.js';

/** Warnings that are worth a line for each handler, and not for each call. */
export class WarnOnce {
  private readonly warned = new Map<string, WeakSet<object>>();

  /**
   * @param topic What it is about: a handler is warned of once for each.
   * @param message The end of a sentence that begins with the handler's name.
   */
  warn(topic: string, handler: { readonly method: object; readonly source: string }, message: string): void {
    const warned = this.warned.get(topic) ?? new WeakSet();
    this.warned.set(topic, warned);
    if (warned.has(handler.method)) return;

    warned.add(handler.method);
    log('warn', `${handler.source}() ${message}`);
  }
}
