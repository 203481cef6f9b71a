import { OptionError } from '../options.js';
import type { Part } from './part.js';
import type { Section, SectionsBefore } from './section.js';

interface Waiting {
  readonly resume: () => void;
  missing: number;
}

/** Which parts of a fan-out wait for which: most wait for none. */
export class SectionGraph {
  private readonly partOf = new Map<Section<unknown>, Part>();
  private readonly followers = new Map<Part, Part[]>();
  private readonly waiting = new Map<Part, Waiting>();

  /** @throws TypeError when a section comes after one that is not in the same fan-out. */
  constructor(parts: readonly Part[], sections: readonly Section<unknown>[]) {
    if (parts.every(({ settings }) => settings.after === undefined)) return;

    sections.forEach((section, at) => this.partOf.set(section, parts[at] as Part));
    for (const part of parts) {
      for (const [key, section] of entriesOf(part)) this.addFollower(this.require(section, part, key), part);
    }
  }

  /** Calls `resume` once the part has all that it waits for. */
  whenReady(part: Part, resume: () => void): void {
    this.waiting.set(part, { resume, missing: entriesOf(part).length });
  }

  /** Lets go on what waited for this part alone, and skips what can have no value from it. */
  onSettled(part: Part): void {
    for (const follower of this.followers.get(part) ?? []) {
      const waiting = this.waiting.get(follower);
      if (waiting === undefined) continue;

      waiting.missing -= 1;
      if (part.state === 'good' && waiting.missing > 0) continue;

      this.waiting.delete(follower);
      if (part.state === 'good') this.release(follower, waiting);
      else follower.skip();
    }
  }

  private release(part: Part, { resume }: Waiting): void {
    part.inputs = Object.fromEntries(entriesOf(part).map(([key, section]) => [key, this.partOf.get(section)?.value]));
    resume();
  }

  private require(section: Section<unknown>, part: Part, key: string): Part {
    const before = this.partOf.get(section);
    if (before !== undefined && before !== part) return before;

    throw new OptionError(
      `${part.name}.after.${key}`,
      'this section is not in the fan-out. Make it with required() or optional() before, and list it as a section too.',
    );
  }

  private addFollower(before: Part, part: Part): void {
    const followers = this.followers.get(before);
    if (followers === undefined) this.followers.set(before, [part]);
    else if (!followers.includes(part)) followers.push(part);
  }
}

function entriesOf({ settings }: Part): Array<[string, Section<unknown>]> {
  return Object.entries(settings.after ?? ({} satisfies SectionsBefore)) as Array<[string, Section<unknown>]>;
}
