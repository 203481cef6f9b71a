import { degradedHeaders, isHeaderOfWholeAnswers, type DegradedSection, type SectionTiming } from 'holdfast';
import type { ResponseState } from '../transports/http-response.js';
import type { ResponseHead } from 'holdfast/nest';
import type { DegradedSettings } from './degraded-options.js';
import type { AnyPartialResponse } from './partial-answer.js';

/** What the head of an answer says about its sections. */
export class AnswerMarks {
  /** What goes into one answer: on some transports several handlers answer together. */
  private readonly pages = new WeakMap<object, AnyPartialResponse[]>();

  constructor(private readonly settings: DegradedSettings) {}

  /**
   * Marks an answer in which something is missing, as the last one who sets its headers: it is not stored, and it
   * replaces what a client has, whatever conditions that sent.
   */
  mark(page: AnyPartialResponse, response: ResponseState): void {
    const { identity } = response;
    if (identity === undefined || (!page.partial && !this.settings.serverTiming)) return;

    if (page.partial) response.dropConditions();
    const pages = this.pages.get(identity);
    if (pages !== undefined) return void pages.push(page);

    const first = [page];
    this.pages.set(identity, first);
    response.beforeHead((head) => this.edit(head, first));
  }

  private edit(head: ResponseHead, pages: readonly AnyPartialResponse[]): void {
    const degraded = pages.flatMap((page) => page.degraded);
    if (degraded.length > 0) this.markDegraded(head, degraded);
    if (this.settings.serverTiming) {
      addTimings(
        head,
        pages.flatMap(({ timings }) => timings),
      );
    }
  }

  private markDegraded(head: ResponseHead, degraded: readonly DegradedSection[]): void {
    const { header: name, cacheControl } = this.settings;
    for (const header of head.getHeaderNames().filter(isHeaderOfWholeAnswers)) head.removeHeader(header);
    for (const [header, value] of Object.entries(degradedHeaders(degraded, { name, cacheControl }))) {
      head.setHeader(header, value);
    }
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
