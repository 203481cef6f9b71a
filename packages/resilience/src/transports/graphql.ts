import { IntrinsicException, type ExecutionContext } from '@nestjs/common';
import type { DegradedSection, ResilienceError } from 'holdfast';
import { AnswerMarks } from '../degradation/answer-marks.js';
import type { DegradedSettings } from '../degradation/degraded-options.js';
import {
  fieldErrors,
  infoOf,
  isSubscribing,
  operationOf,
  PeerPackage,
  rawResponseIn,
  withoutStack,
  type GraphqlInfo,
  type HandlerKinds,
} from 'holdfast/nest';
import { messageToClients, retryAfterSeconds, statusOf } from './client-answer.js';
import { GraphqlExchange } from './graphql-exchange.js';
import type { GraphqlNotes, PlacedError } from './graphql-notes.js';
import { isPlain, PartialFields, partialsAskedFor, type MissingField } from './graphql-partial.js';
import { binding } from '../binding.js';
import type { Transport } from './transport.js';

const FieldError = fieldErrors(IntrinsicException);

/** GraphQL on any driver: an error is that of its field, in an answer that is 200 as a whole. */
export class GraphqlTransport implements Transport {
  readonly answersOnce = true;
  private readonly graphql = new PeerPackage({
    name: 'graphql',
    binding,
    bundled: () => import('graphql').catch(() => undefined),
  });
  private readonly marks: AnswerMarks;

  constructor(
    degraded: DegradedSettings,
    private readonly notes: GraphqlNotes,
  ) {
    this.marks = new AnswerMarks(degraded);
  }

  async prepare(kinds: readonly HandlerKinds[]): Promise<void> {
    if (kinds.some(({ graphql }) => graphql !== undefined)) await this.graphql.load();
  }

  exchangeOf(context: ExecutionContext): GraphqlExchange | undefined {
    return GraphqlExchange.in(operationOf(context));
  }

  isSafe(context: ExecutionContext): boolean {
    return infoOf(context)?.operation?.operation === 'query';
  }

  headerOf(context: ExecutionContext, name: string): string | readonly string[] | undefined {
    return this.exchangeOf(context)?.headerOf(name);
  }

  translate(error: ResilienceError): unknown {
    const retryAfter = retryAfterSeconds(error);
    const extensions = {
      code: error.code,
      httpStatus: statusOf(error),
      ...(retryAfter === undefined ? {} : { retryAfter }),
    };

    return new FieldError(messageToClients(error), { originalError: error, extensions });
  }

  outgoing(value: unknown, context: ExecutionContext): unknown {
    return this.fieldsFor(value, infoOf(context), (field) => this.note(field, context));
  }

  opensEvents(context: ExecutionContext): boolean {
    return isSubscribing(infoOf(context));
  }

  /**
   * An event has its field's value under the field's name, unless the subscription says otherwise. Errors beside values
   * have no place in what servers send of events.
   */
  outgoingEvent(event: unknown, context: ExecutionContext): unknown {
    const info = infoOf(context);
    const name = info?.fieldNodes?.[0]?.name?.value;
    if (name === undefined || !isPlain(event)) return event;

    const value = event[name];
    const sent = this.fieldsFor(value, info, () => {});
    return sent === value ? event : { ...event, [name]: sent };
  }

  mark(answer: unknown, context: ExecutionContext): void {
    const operation = operationOf(context);
    const info = infoOf(context);
    if (operation === undefined || info === undefined) return;

    for (const page of partialsAskedFor(answer, info)) {
      // That of the field by itself, for whoever is to repeat it in another answer.
      this.marks.keep(page, context);
      const response = rawResponseIn(operation);
      if (response === undefined) this.marks.keep(page, operation);
      else this.marks.mark(page, response);
    }
  }

  private fieldsFor(value: unknown, info: GraphqlInfo | undefined, note: (field: MissingField) => void): unknown {
    if (info === undefined || partialsAskedFor(value, info).size === 0) return value;

    return new PartialFields(info, { errorOf: (section) => this.missing({ section }) ?? null, note }).of(value);
  }

  private note(field: MissingField, context: ExecutionContext): void {
    const operation = operationOf(context);
    const error = this.missing(field);
    if (operation !== undefined && error !== undefined) this.notes.addError(operation, error);
  }

  /** The error of a field whose section is missing. */
  private missing({
    section: { section, reason },
    ...place
  }: Partial<MissingField> & { readonly section: DegradedSection }): PlacedError | undefined {
    const { module } = this.graphql;
    if (module === undefined) return undefined;

    const extensions = { code: 'SECTION_FAILED', section, reason };
    return withoutStack(new module.GraphQLError(`${section} unavailable`, { ...(place as object), extensions }));
  }
}
