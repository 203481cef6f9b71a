/** Nest's own format around a line: process, date, spaces that align the level, and the time since the line before. */
const NEST_LINE = /^\[Nest\] \d+\s+- .*?(LOG|WARN|ERROR|DEBUG|VERBOSE|FATAL) (\[.+?)(?: \+\d+ms)?$/;

/** What the shop printed, with Nest's lines as the documentation shows them: `WARN [Resilience] …`. */
export class ShopLog {
  readonly lines: string[] = [];
  private readonly listeners = new Set<() => void>();

  add(line: string): void {
    const [, level, text] = NEST_LINE.exec(line) ?? [];
    this.lines.push(level === undefined ? line : `${level} ${text}`);
    this.listeners.forEach((listener) => listener());
  }

  /** The first group of the first line that matches, as soon as there is one. */
  async match(pattern: RegExp): Promise<string> {
    const find = (): string | undefined => this.lines.flatMap((line) => pattern.exec(line)?.[1] ?? [])[0];
    await this.until(() => find() !== undefined);
    return find() ?? '';
  }

  /** Waits for a line after the first `start` lines. */
  next(line: string, start: number): Promise<void> {
    return this.until(() => this.lines.includes(line, start));
  }

  /** What came after the first `start` lines. Lines take another way than answers, so the awaited ones get some time. */
  async since(
    start: number,
    { awaited, patienceMs }: { awaited: readonly string[]; patienceMs: number },
  ): Promise<string[]> {
    const seen = (): string[] => this.lines.slice(start);
    const patience = new Promise<void>((resolve) => setTimeout(resolve, patienceMs));
    await Promise.race([this.until(() => awaited.every((line) => seen().includes(line))), patience]);
    return seen();
  }

  private until(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (condition()) {
          this.listeners.delete(look);
          resolve();
        }
      };
      this.listeners.add(look);
      look();
    });
  }
}
