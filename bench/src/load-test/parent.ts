/** What a process of the run can be asked, by name. */
export type Questions = Readonly<Record<string, (given: never) => unknown>>;

interface Question {
  readonly nth: number;
  readonly name: string;
  readonly given: unknown;
}

/** Tells the parent that this process is there, answers what it asks, and ends with it. */
export function serveParent(ready: unknown, questions: Questions): void {
  process.on('message', (message: Question) => {
    void Promise.resolve(questions[message.name]?.(message.given as never)).then((answer) =>
      process.send?.({ nth: message.nth, answer }),
    );
  });
  process.on('disconnect', () => process.exit());
  process.send?.({ nth: 0, answer: ready });
}
