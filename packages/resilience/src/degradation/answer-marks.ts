import type { ServerResponse } from 'node:http';
import { degradedHeaders } from 'holdfast';
import {
  beforeHead,
  keepDegradedMarks,
  markDegraded,
  type AnyPartialResponse,
  type DegradedMarks,
} from 'holdfast/nest';
import type { DegradedSettings } from './degraded-options.js';

/** What the head of an answer says about its sections. */
export class AnswerMarks {
  /** What goes into one answer: on some transports several handlers answer together. */
  private readonly pages = new WeakMap<object, AnyPartialResponse[]>();

  constructor(private readonly settings: DegradedSettings) {}

  /** Marks an answer in which something is missing, and says how long its sections took where that is wanted. */
  mark(page: AnyPartialResponse, response: ServerResponse | undefined): void {
    if (response === undefined || (!page.partial && !this.settings.serverTiming)) return;

    const pages = this.add(page, response);
    if (this.settings.serverTiming && pages.length === 1) addTimings(response, pages);
    if (page.partial) markDegraded(response, () => this.marksOf(pages));
  }

  /** Marks what stands for an answer whose head is out of reach, or for a part of one. */
  keep(page: AnyPartialResponse, subject: object): void {
    if (!page.partial) return;

    const pages = this.add(page, subject);
    keepDegradedMarks(subject, () => this.marksOf(pages));
  }

  private add(page: AnyPartialResponse, subject: object): readonly AnyPartialResponse[] {
    const pages = this.pages.get(subject) ?? [];
    this.pages.set(subject, pages);
    pages.push(page);

    return pages;
  }

  private marksOf(pages: readonly AnyPartialResponse[]): DegradedMarks {
    const { header: name, cacheControl } = this.settings;

    return degradedHeaders(
      pages.flatMap(({ degraded }) => degraded),
      { name, cacheControl },
    );
  }
}

/** Beside those that the application has measured. Names of sections are tokens, and reasons are codes. */
function addTimings(response: ServerResponse, pages: readonly AnyPartialResponse[]): void {
  beforeHead(response, (head) => {
    const measured = head.getHeader('Server-Timing');
    const entries = pages
      .flatMap(({ timings }) => timings)
      .map(({ section, ms, reason }) => `${section};dur=${ms}${reason === undefined ? '' : `;desc="${reason}"`}`);

    head.setHeader('Server-Timing', [...(measured === undefined ? [] : [measured]), ...entries].flat().join(', '));
  });
}
