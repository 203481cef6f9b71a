import { degradedHeaders, isHeaderOfWholeAnswers, type SectionTiming } from 'holdfast';
import type { ResponseState } from '../transports/http-response.js';
import type { ResponseHead } from '../transports/response-head.js';
import type { DegradedSettings } from './degraded-options.js';
import type { AnyPartialResponse } from './partial-answer.js';

/** What the head of an answer says about its sections. */
export class AnswerMarks {
  constructor(private readonly settings: DegradedSettings) {}

  /**
   * Marks an answer in which something is missing, as the last one who sets its headers: it is not stored, and it
   * replaces what a client has, whatever conditions that sent.
   */
  mark(page: AnyPartialResponse, response: ResponseState): void {
    const { degraded, timings } = page;
    const isDegraded = degraded.length > 0;
    if (!isDegraded && !this.settings.serverTiming) return;

    if (isDegraded) response.dropConditions();
    response.beforeHead((head) => {
      if (isDegraded) this.markDegraded(head, page);
      if (this.settings.serverTiming) addTimings(head, timings);
    });
  }

  private markDegraded(head: ResponseHead, { degraded }: AnyPartialResponse): void {
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
