import { OptionError } from '../options.js';
import type { Part } from './part.js';
import type { Section, SectionsBefore } from './section.js';

interface Waiting {
  readonly resume: () => void;
  missing: number;
}

const NONE: readonly Part[] = [];

/** Which parts of a fan-out wait for which. */
export class SectionGraph {
  private readonly partOf = new Map<Section<unknown>, Part>();
  private readonly followers = new Map<Part, Part[]>();
  private readonly waiting = new Map<Part, Waiting>();

  /**
   * The graph of a fan-out; `undefined` where nobody waits for anybody.
   *
   * @throws TypeError when a section comes after one that is not in the same fan-out.
   */
  static of(parts: readonly Part[], sections: readonly Section<unknown>[]): SectionGraph | undefined {
    const anyWaits = parts.some(({ settings }) => settings.after !== undefined);

    return anyWaits ? new SectionGraph(parts, sections) : undefined;
  }

  private constructor(parts: readonly Part[], sections: readonly Section<unknown>[]) {
    sections.forEach((section, at) => this.partOf.set(section, parts[at] as Part));
    for (const part of parts) {
      for (const before of this.partsBefore(part)) this.addFollower(before, part);
    }
  }

  /** Calls `resume` once the part has all that it waits for. */
  whenReady(part: Part, resume: () => void): void {
    this.waiting.set(part, { resume, missing: new Set(entriesOf(part).map(([, section]) => section)).size });
  }

  /** Lets go on what waited for this part alone. Returns the parts that will never have all that they wait for. */
  onSettled(part: Part): readonly Part[] {
    const followers = this.followers.get(part) ?? NONE;
    if (part.state !== 'good') return followers.filter((follower) => this.waiting.delete(follower));

    for (const follower of followers) {
      const waiting = this.waiting.get(follower);
      if (waiting !== undefined && --waiting.missing === 0) this.release(follower, waiting);
    }

    return NONE;
  }

  private release(part: Part, { resume }: Waiting): void {
    part.inputs = Object.fromEntries(
      entriesOf(part).map(([key, section]) => [key, (this.partOf.get(section) as Part).value]),
    );
    resume();
  }

  /** Each once, under however many names its value is wanted. */
  private partsBefore(part: Part): Set<Part> {
    return new Set(entriesOf(part).map(([key, section]) => this.require(section, part, key)));
  }

  private require(section: Section<unknown>, part: Part, key: string): Part {
    const before = this.partOf.get(section);
    if (before !== undefined) return before;

    throw new OptionError(
      `${part.name}.after.${key}`,
      'this section is not in the fan-out. Make it with required() or optional() before, and list it as a section too.',
    );
  }

  private addFollower(before: Part, part: Part): void {
    const followers = this.followers.get(before);
    if (followers === undefined) this.followers.set(before, [part]);
    else followers.push(part);
  }
}

function entriesOf({ settings }: Part): Array<[string, Section<unknown>]> {
  return Object.entries(settings.after ?? ({} satisfies SectionsBefore)) as Array<[string, Section<unknown>]>;
}
