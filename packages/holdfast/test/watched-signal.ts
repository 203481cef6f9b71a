/** A caller's abort controller that knows how many listeners stand on its signal. */
export class WatchedController extends AbortController {
  readonly #listeners = new Set<unknown>();

  constructor() {
    super();
    const { signal } = this;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>): void => {
      this.#listeners.add(args[1]);
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>): void => {
      this.#listeners.delete(args[1]);
      remove(...args);
    };
  }

  get listeners(): number {
    return this.#listeners.size;
  }
}
