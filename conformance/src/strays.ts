/** What is let out into the process: rejections that nobody handles, warnings. */
export class Strays {
  readonly found: string[] = [];
  private readonly onRejection = (reason: unknown): void =>
    void this.found.push(`unhandled rejection: ${String(reason)}`);
  private readonly onException = (error: unknown): void => void this.found.push(`uncaught exception: ${String(error)}`);
  /** Node's own, which prints. */
  private readonly printers = process.listeners('warning');
  private readonly onWarning = (warning: Error): void => {
    if (warning.name === 'MaxListenersExceededWarning') this.found.push(`${warning.name}: ${warning.message}`);
    else for (const print of this.printers) print(warning);
  };

  constructor() {
    process.on('unhandledRejection', this.onRejection);
    process.on('uncaughtException', this.onException);
    process.removeAllListeners('warning');
    process.on('warning', this.onWarning);
  }

  stop(): void {
    process.off('unhandledRejection', this.onRejection);
    process.off('uncaughtException', this.onException);
    process.off('warning', this.onWarning);
    for (const print of this.printers) process.on('warning', print);
  }
}
