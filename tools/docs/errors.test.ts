import { STATUS_CODES, type Server } from 'node:http';
import { Controller, Get, Param, type INestApplication } from '@nestjs/common';
import { ResilienceModule } from '@nestjs/resilience';
import { Test } from '@nestjs/testing';
import * as engine from 'holdfast';
import request from 'supertest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unticked } from './event-table.ts';
import { pages, read, tablesOf } from './pages.mjs';

/** One of each; the test below says when a class is missing. */
const SPECIMENS: Readonly<Record<string, engine.ResilienceError>> = {
  ResilienceTimeoutError: new engine.ResilienceTimeoutError(1_500, 'carrier'),
  CircuitOpenError: new engine.CircuitOpenError('carrier', 29_500),
  BulkheadFullError: new engine.BulkheadFullError('carrier', 'full'),
  DeadlineExceededError: new engine.DeadlineExceededError(3_000, 'carrier'),
  OutboundRateLimitError: new engine.OutboundRateLimitError('carrier', 1),
  SectionFailedError: new engine.SectionFailedError(
    { section: 'catalog', reason: 'upstream_error', cause: undefined, status: 502 },
    'fan-out',
  ),
  SiblingFailedError: new engine.SiblingFailedError('catalog', 'fan-out'),
  ClientDisconnectedError: new engine.ClientDisconnectedError('carrier'),
};
/** Those that nobody is told of. */
const UNANSWERED: readonly string[] = ['ClientDisconnectedError', 'SiblingFailedError'];
const RETRY_AFTER: Readonly<Record<string, string>> = { CircuitOpenError: '30', OutboundRateLimitError: '1' };

const BASES = ['ResilienceError', 'RejectionError'];

@Controller('fail')
class FailingController {
  @Get(':name')
  fail(@Param('name') name: string): void {
    throw SPECIMENS[name] as Error;
  }
}

let app: INestApplication<Server>;

beforeAll(async () => {
  const moduleRef = await Test.createTestingModule({
    imports: [ResilienceModule.forRoot()],
    controllers: [FailingController],
  }).compile();
  app = moduleRef.createNestApplication({ logger: false });
  await app.listen(0, '127.0.0.1');
});
afterAll(async () => {
  await app.close();
});

const tables = pages().flatMap((path) => tablesOf(read(path)).map((table) => ({ path, ...table })));
const errorTables = tables.filter(({ name }) => name === 'Errors');

function exportedErrors(): string[] {
  return Object.entries(engine).flatMap(([name, value]) =>
    typeof value === 'function' && value.prototype instanceof Error && !BASES.includes(name) ? [name] : [],
  );
}

/** What an error has beside what all of them have. */
function fieldsOf(error: engine.ResilienceError): string[] {
  return Object.keys(error)
    .filter((key) => key !== 'policy' && key !== 'code')
    .toSorted();
}

describe('the table of errors in the reference', () => {
  it('lists every class', () => {
    const rows = errorTables.find(({ path }) => path === 'docs/reference.md')?.rows ?? [];

    expect(rows.map((row) => unticked(row.Error)).toSorted()).toEqual(exportedErrors().toSorted());
    expect(Object.keys(SPECIMENS).toSorted()).toEqual(exportedErrors().toSorted());
  });
});

describe.each(errorTables)('the table of errors in $path', ({ rows }) => {
  const answered = rows.filter((row) => !UNANSWERED.includes(unticked(row.Error)));

  it.each(rows)('has the code, the fields and the message of $Error', (row) => {
    const error = SPECIMENS[unticked(row.Error)] as engine.ResilienceError;

    expect(unticked(row.Code)).toBe(error.code);
    if (row.Fields === undefined) return;

    expect(unticked(row.Fields).split(' ').toSorted()).toEqual(fieldsOf(error).length > 0 ? fieldsOf(error) : ['–']);
    expect(row['Message in logs']).toBe(error.message);
  });

  it.each(answered)('says what clients get for $Error', async (row) => {
    const name = unticked(row.Error);
    const error = SPECIMENS[name] as engine.ResilienceError;
    const { status, headers, body } = await request(app.getHttpServer()).get(`/fail/${name}`);

    expect(unticked(row.HTTP)).toBe(name in RETRY_AFTER ? `${status}, with Retry-After` : String(status));
    expect(headers['retry-after']).toBe(RETRY_AFTER[name]);
    expect(body).toEqual({
      statusCode: status,
      error: STATUS_CODES[status],
      message: unticked(row['Message to clients']).replace('<section>', 'catalog'),
      code: error.code,
    });
  });

  it('leaves that open for errors that nobody is told of', () => {
    const others = rows.filter((row) => !answered.includes(row));

    expect(others.flatMap((row) => [row.HTTP, row['Message to clients']]).filter((cell) => cell !== '–')).toEqual([]);
  });
});
