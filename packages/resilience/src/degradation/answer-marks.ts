import type { ServerResponse } from 'node:http';
import { degradedHeaders, type SectionTiming } from 'holdfast';
import {
  beforeHead,
  markDegraded,
  type AnyPartialResponse,
  type DegradedMarks,
  type ResponseHead,
} from 'holdfast/nest';
import type { ResponseState } from '../transports/http-response.js';
import type { DegradedSettings } from './degraded-options.js';

/** What the head of an answer says about its sections. */
export class AnswerMarks {
  /** What goes into one answer: on some transports several handlers answer together. */
  private readonly pages = new WeakMap<object, AnyPartialResponse[]>();

  constructor(private readonly settings: DegradedSettings) {}

  /** Marks an answer in which something is missing, and says how long its sections took where that is wanted. */
  mark(page: AnyPartialResponse, { identity }: ResponseState): void {
    if (identity === undefined || (!page.partial && !this.settings.serverTiming)) return;

    const pages = this.pagesOf(identity);
    pages.push(page);
    if (page.partial) markDegraded(identity, () => this.marksOf(pages));
  }

  private pagesOf(response: ServerResponse): AnyPartialResponse[] {
    const known = this.pages.get(response);
    if (known !== undefined) return known;

    const pages: AnyPartialResponse[] = [];
    this.pages.set(response, pages);
    if (this.settings.serverTiming) {
      beforeHead(response, (head) =>
        addTimings(
          head,
          pages.flatMap(({ timings }) => timings),
        ),
      );
    }

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
function addTimings(head: ResponseHead, timings: readonly SectionTiming[]): void {
  const measured = head.getHeader('Server-Timing');
  const entries = timings.map(
    ({ section, ms, reason }) => `${section};dur=${ms}${reason === undefined ? '' : `;desc="${reason}"`}`,
  );

  head.setHeader('Server-Timing', [...(measured === undefined ? [] : [measured]), ...entries].flat().join(', '));
}
