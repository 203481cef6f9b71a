import { channel } from 'node:diagnostics_channel';
import { expect, it } from 'vitest';

/** Of a union of events: the name in `Payloads` of the one with this type. */
export type PayloadName<Payloads, Type> = {
  [Name in keyof Payloads]: Payloads[Name] extends { readonly type: Type } ? Name : never;
}[keyof Payloads];

export type Row = Readonly<Record<string, string>>;

/** What events really are, beside what a page says of them. */
export class SeenEvents {
  /** One of each type. */
  readonly emitted = new Map<string, object>();
  private readonly channels = new Map<string, Set<string>>();

  /**
   * @param names Of the payloads, by type.
   * @param prefixes Of the channels on which each is published.
   */
  constructor(
    private readonly names: Readonly<Record<string, string>>,
    private readonly prefixes: readonly string[],
  ) {}

  /** From now on, what is published is seen. */
  listen(): void {
    for (const type of this.types) {
      const seen = new Set<string>();
      this.channels.set(type, seen);
      for (const name of this.channelsOf(type)) channel(name).subscribe(() => void seen.add(name));
    }
  }

  /** The tests of a table with all events in it. */
  testTypes(rows: readonly Row[]): void {
    it('lists every type', () => {
      expect(rows.map(({ Type }) => unticked(Type)).toSorted()).toEqual(this.types.toSorted());
    });

    it.each(rows)('names the payload of $Type', ({ Type, Payload }) => {
      expect(unticked(Payload)).toBe(this.names[unticked(Type)]);
    });

    it.each(rows)('is right about the channels of $Type', ({ Type }) => {
      const type = unticked(Type);

      expect([...(this.channels.get(type) ?? [])].toSorted()).toEqual(this.channelsOf(type).toSorted());
    });
  }

  /** @param common Fields that every event has, and that no row repeats. */
  testFields(rows: readonly Row[], common: readonly string[]): void {
    it.each(rows)('lists the fields of $Type', ({ Type, Fields }) => {
      const fields = Object.keys(this.emitted.get(unticked(Type)) ?? {});

      expect(fields).toEqual(expect.arrayContaining([...common]));
      expect(unticked(Fields).split(' ').toSorted()).toEqual(fields.filter((one) => !common.includes(one)).toSorted());
    });
  }

  private get types(): string[] {
    return Object.keys(this.names);
  }

  private channelsOf(type: string): string[] {
    return this.prefixes.map((prefix) => `${prefix}:${type}`);
  }
}

export const unticked = (cell = ''): string => cell.replaceAll('`', '');
