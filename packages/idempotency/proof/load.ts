import type { Clients } from './clients.js';
import type { Random } from './random.js';
import type { Charge } from './server/charges.js';

const CLIENTS = 16;

/** How many clients have the same key, side by side. */
const COPIES = [1, 1, 2, 3];
const WITH_ANOTHER_PAYLOAD = 0.1;

/** Clients that come back until they are answered, and then once more. */
export class Load {
  readonly keys: Charge[] = [];
  readonly #waiting: Charge[] = [];

  constructor(
    private readonly clients: Clients,
    private readonly random: Random,
    private readonly prefix: string,
  ) {}

  /** Until there is enough, and every key that was begun has its answer. */
  async run(isEnough: () => boolean): Promise<void> {
    const each = Array.from({ length: CLIENTS }, async () => {
      const random = this.random.fork();
      while (!isEnough() || this.#waiting.length > 0) await this.serve(this.next(), random);
    });
    await Promise.all(each);
  }

  /** Asks once more for every key. */
  async audit(): Promise<void> {
    const rest = [...this.keys];
    const each = Array.from({ length: CLIENTS }, async () => {
      const random = this.random.fork();
      for (let charge = rest.pop(); charge !== undefined; charge = rest.pop()) {
        await this.clients.settle(charge, random);
      }
    });
    await Promise.all(each);
  }

  private next(): Charge {
    const waiting = this.#waiting.pop();
    if (waiting !== undefined) return waiting;

    const charge = { key: `${this.prefix}-${this.keys.length}`, amount: 1 + this.random.below(1_000) };
    this.keys.push(charge);
    for (let copies = this.random.pick(COPIES); copies > 1; copies--) this.#waiting.push(charge);
    return charge;
  }

  private async serve(charge: Charge, random: Random): Promise<void> {
    const { clients } = this;
    await clients.settle(charge, random);
    await clients.ask(charge, random);
    if (random.chance(WITH_ANOTHER_PAYLOAD)) await clients.ask({ ...charge, amount: charge.amount + 1 }, random);
  }
}
