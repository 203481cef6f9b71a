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

  /** Lines take another way than answers, and may come a little after them: waits for so many, but not for long. */
  async since(start: number, { count, patienceMs }: { count: number; patienceMs: number }): Promise<string[]> {
    const patience = new Promise<void>((resolve) => setTimeout(resolve, patienceMs));
    await Promise.race([this.until(() => this.lines.length >= start + count), patience]);
    return this.lines.slice(start);
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
