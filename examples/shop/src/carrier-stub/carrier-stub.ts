import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { CallCounts } from './call-counts.js';
import { parseMode, type CarrierMode } from './carrier-mode.js';

type Route = (request: IncomingMessage, response: ServerResponse) => Promise<void> | void;

interface Booking {
  readonly id: string;
  readonly reference: string;
  readonly trackingNumber: string;
}

const QUOTES = [
  { service: 'ground', price: 6.9, estimatedDays: 4 },
  { service: 'express', price: 14.5, estimatedDays: 1 },
];

/**
 * The world outside the shop: the shipping carrier, which `POST /mode` makes slow or broken, and the parcel tracking
 * partner, which always answers. `GET /stats` tells what reached them, `POST /reset` starts over.
 */
export function createCarrierStub(): Server {
  const stub = new CarrierStub();
  return createServer((request, response) => void stub.handle(request, response));
}

class CarrierStub {
  private mode: CarrierMode = { mode: 'answer' };
  private readonly counts = new CallCounts();
  private readonly bookings = new Map<string, Booking>();

  private readonly routes = new Map<string, Route>([
    ['POST /mode', (request, response) => this.changeMode(request, response)],
    ['GET /stats', (_request, response) => send(response, 200, this.counts.stats())],
    ['POST /reset', (_request, response) => this.reset(response)],
    ['POST /v2/quotes', (request, response) => this.asCarrier(request, response, () => send(response, 200, QUOTES))],
    [
      'POST /v2/shipments',
      (request, response) => this.asCarrier(request, response, (reference) => this.book(reference, response)),
    ],
  ]);

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = pathOf(request);
    try {
      await (this.routes.get(`${request.method} ${path}`) ?? this.parcelRoute(path))(request, response);
    } catch (error) {
      send(response, 400, { message: error instanceof Error ? error.message : String(error) });
    }
  }

  private async changeMode(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.mode = parseMode(await readJson(request));
    send(response, 200, this.mode);
  }

  private reset(response: ServerResponse): void {
    this.mode = { mode: 'answer' };
    this.counts.reset();
    this.bookings.clear();
    send(response, 200, this.counts.stats());
  }

  private async asCarrier(
    request: IncomingMessage,
    response: ServerResponse,
    answer: (reference: string) => void,
  ): Promise<void> {
    this.counts.follow(pathOf(request), response);
    const { reference } = await readJson(request);

    if (typeof reference !== 'string') {
      send(response, 422, { message: 'reference: a string' });
      return;
    }
    this.behave(response, () => answer(reference));
  }

  private behave(response: ServerResponse, answer: () => void): void {
    const { mode } = this;
    switch (mode.mode) {
      case 'answer':
        answer();
        break;
      case 'hang':
        break;
      case 'fail':
        send(response, mode.status, { message: 'The carrier has a problem' });
        break;
      case 'slow': {
        const timer = setTimeout(answer, mode.delayMs);
        response.once('close', () => clearTimeout(timer));
        break;
      }
    }
  }

  /** Books a reference once: a repeated booking gets the shipment it already has. */
  private book(reference: string, response: ServerResponse): void {
    const known = this.bookings.get(reference);
    if (known) {
      send(response, 200, known);
      return;
    }

    const number = this.bookings.size + 1;
    const booking = { id: `shipment-${number}`, reference, trackingNumber: `CAT${String(number).padStart(6, '0')}` };
    this.bookings.set(reference, booking);
    send(response, 201, booking);
  }

  private parcelRoute(path: string): Route {
    const trackingNumber = /^\/v1\/parcels\/([^/]+)$/.exec(path)?.[1];
    if (trackingNumber === undefined) {
      return (_request, response) => send(response, 404, { message: `Nothing is at ${path}` });
    }

    return (_request, response) => {
      this.counts.follow('/v1/parcels', response);
      send(response, 200, { trackingNumber: decodeURIComponent(trackingNumber), status: 'in-transit' });
    };
  }
}

function pathOf(request: IncomingMessage): string {
  return (request.url ?? '/').split('?', 1)[0] ?? '/';
}

async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) {
    chunks.push(chunk as Buffer);
  }
  const body: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8') || '{}');

  if (typeof body !== 'object' || body === null) {
    throw new RangeError('The body is not a JSON object');
  }
  return body as Record<string, unknown>;
}

function send(response: ServerResponse, status: number, body: unknown): void {
  if (response.headersSent || response.destroyed) {
    return;
  }
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
