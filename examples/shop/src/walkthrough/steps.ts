import type { CarrierStats } from '../carrier-stub/call-counts.js';
import type { RestartMessage } from '../launch/parent.js';
import type { Answer, ShopClient } from './shop-client.js';

/** What one step showed. The carrier's counts are those of this step alone. */
export interface Seen {
  readonly answers: readonly Answer[];
  readonly log: readonly string[];
  readonly carrier: Pick<CarrierStats, 'requests' | 'cancelled'>;
}

export interface Step {
  readonly title: string;
  /** What the shop is ended with before, to be started again. */
  readonly restart?: RestartMessage['restart'];
  readonly act: (shop: ShopClient) => Promise<readonly Answer[]>;
  /** What the shop has to write meanwhile, in this order. */
  readonly log: readonly string[];
  /** What has to reach the carrier meanwhile. */
  readonly carrier: Pick<CarrierStats, 'requests' | 'cancelled'>;
  /** The rest of the documented outcome, each with a sentence for the report. */
  readonly expected: Readonly<Record<string, (answers: readonly Answer[]) => boolean>>;
  /** What a busy machine can do to it. */
  readonly whenBusy: string;
}

/** What connections and two busy processes may add to a documented time. */
const OVERHEAD_MS = 250;
/** How far into its round an answer may come. */
const LATE_MS = 900;
/** Timers may fire a millisecond early. */
const EARLY_MS = 5;

const LIVE_QUOTES =
  '[{"service":"ground","price":6.9,"estimatedDays":4},{"service":"express","price":14.5,"estimatedDays":1}]';
const FLAT_RATES = '[{"service":"flat-rate","price":4.99,"estimatedDays":5}]';
const TIMED_OUT = '{"statusCode":504,"error":"Gateway Timeout","message":"The operation timed out","code":"TIMEOUT"}';
const REFUSED =
  '{"statusCode":503,"error":"Service Unavailable","message":"Service temporarily unavailable","code":"CIRCUIT_OPEN"}';
const REFUSED_MESSAGE =
  /^{"status":"error","code":"CIRCUIT_OPEN","statusCode":503,"message":"Service temporarily unavailable","retryAfter":\d+}$/;
const AT_CAPACITY =
  '{"statusCode":503,"error":"Service Unavailable","message":"Server is at capacity","code":"BULKHEAD_FULL"}';
const OVER_LIMIT =
  '{"statusCode":503,"error":"Service Unavailable","message":"Rate limit of a dependency exceeded","code":"RATE_LIMITED"}';

/** Of a query: the answer is a 200, and its field has failed. */
const failedField = (message: string, extensions: string): string =>
  `{"errors":[{"message":"${message}","locations":[{"line":1,"column":3}],"path":["shippingQuotes"],` +
  `"extensions":${extensions}}],"data":{"shippingQuotes":null}}\n`;
const TIMED_OUT_FIELD = failedField('The operation timed out', '{"code":"TIMEOUT","httpStatus":504}');
const REFUSED_FIELD = failedField(
  'Service temporarily unavailable',
  '{"code":"CIRCUIT_OPEN","httpStatus":503,"retryAfter":<seconds>}',
);
const LATE_TIMEOUT =
  'A timeout that fires more than 50 ms late is no fault of the carrier: the breaker leaves it out, and opens later.';
const LATE_ANSWER = 'Answers come later than documented when the processes have to wait for their turn.';
const LATE_SENDING = 'Look-ups that are sent a second apart find tokens that have come back meanwhile.';
const EARLIER_STEPS = 'The breaker is as the steps before have left it: look at the first one that went wrong.';

const SHIPMENT = '{"id":"shipment-1","reference":"1001","trackingNumber":"CAT000001"}';
const KEY_REUSED =
  '{"statusCode":422,"error":"Unprocessable Entity","code":"IDEMPOTENCY_KEY_REUSED",' +
  '"message":"This idempotency key was used for another request. Use a new one"}';

const NOTHING = { requests: 0, cancelled: 0 };

const quotes = (orderId: string) => async (shop: ShopClient) => [await shop.get(`/shipping/quotes?orderId=${orderId}`)];
const query = async (shop: ShopClient) => [
  await shop.post('/graphql', { query: '{ shippingQuotes(orderId: "1001") { service price } }' }),
];
const BOOKING_KEY = '5f1c2a9e-shipment-1001';
const book = (orderId: string) => async (shop: ShopClient) => [
  await shop.post('/shipping/shipments', { orderId }, { 'idempotency-key': BOOKING_KEY }),
];
const reprice = async (shop: ShopClient) => [await shop.post('/shipping/reprice')];
const times = <Result>(count: number, act: (index: number) => Promise<Result>) =>
  Promise.all(Array.from({ length: count }, (_, index) => act(index + 1)));

const all = (status: number, body?: string) => (answers: readonly Answer[]) =>
  answers.every((answer) => answer.status === status && (body === undefined || answer.body === body));
const count = (answers: readonly Answer[], status: number) =>
  answers.filter((answer) => answer.status === status).length;
const REPLAYED = {
  '201 with the same shipment': all(201, SHIPMENT),
  'with Idempotent-Replayed: true': ([answer]: readonly Answer[]) => answer?.replayed === 'true',
};
const took = (fromMs: number, toMs: number) => (answers: readonly Answer[]) =>
  answers.every(({ elapsedMs }) => elapsedMs >= fromMs - EARLY_MS && elapsedMs <= toMs + OVERHEAD_MS);
const at = (answers: readonly Answer[], status: number): number[] =>
  answers
    .filter((answer) => answer.status === status)
    .map(({ elapsedMs }) => elapsedMs)
    .sort((a, b) => a - b);

/** The documentation's "Try it", with the bulkhead, the job and the partner played where the breaker is open anyway. */
export const STEPS = {
  live: {
    title: 'The carrier answers: live quotes',
    act: quotes('1001'),
    log: [],
    carrier: { requests: 1, cancelled: 0 },
    expected: { '200 with the quotes of the carrier': all(200, LIVE_QUOTES) },
    whenBusy: LATE_ANSWER,
  },
  hanging: {
    title: 'The carrier hangs: a timeout, after a second attempt',
    act: async (shop) => {
      await shop.carrier({ mode: 'hang' });
      return quotes('1001')(shop);
    },
    log: [],
    carrier: { requests: 2, cancelled: 2 },
    expected: { '504 TIMEOUT': all(504, TIMED_OUT), 'after 3.0 to 3.2 s': took(3000, 3200) },
    whenBusy: LATE_TIMEOUT,
  },
  keepSending: {
    title: 'Two more requests: seven calls in the window, six of them failed',
    act: async (shop) => [...(await quotes('1001')(shop)), ...(await quotes('1001')(shop))],
    log: [],
    carrier: { requests: 4, cancelled: 4 },
    expected: { '504 TIMEOUT': all(504, TIMED_OUT), 'each after 3.0 to 3.2 s': took(3000, 3200) },
    whenBusy: LATE_TIMEOUT,
  },
  slowField: {
    title: 'The same as a GraphQL query, on the same breaker: nine calls, eight of them failed',
    act: query,
    log: [],
    carrier: { requests: 2, cancelled: 2 },
    expected: {
      '200 with a null field, and TIMEOUT': all(200, TIMED_OUT_FIELD),
      'after 3.0 to 3.2 s': took(3000, 3200),
    },
    whenBusy: LATE_TIMEOUT,
  },
  opening: {
    title: 'The fifth slow request opens the breaker',
    act: quotes('1001'),
    log: [
      'WARN [Resilience] Circuit "carrier" went from closed to open',
      'LOG [Resilience] ShippingController.getQuotes answered with its fallback',
    ],
    carrier: { requests: 1, cancelled: 1 },
    expected: { '200 with flat rates': all(200, FLAT_RATES), 'after 1.5 to 1.7 s': took(1500, 1700) },
    whenBusy: LATE_TIMEOUT,
  },
  booking: {
    title: 'Booking a shipment fails fast',
    act: book('1001'),
    log: [],
    carrier: NOTHING,
    expected: {
      '503 CIRCUIT_OPEN': all(503, REFUSED),
      'with Retry-After': ([answer]) => Number(answer?.retryAfter) >= 1,
      'at once': took(0, 0),
    },
    whenBusy: LATE_TIMEOUT,
  },
  flatRates: {
    title: 'Quotes come from the price list',
    act: quotes('1002'),
    log: ['LOG [Resilience] ShippingController.getQuotes answered with its fallback'],
    carrier: NOTHING,
    expected: { '200 with flat rates': all(200, FLAT_RATES), 'at once': took(0, 0) },
    whenBusy: LATE_TIMEOUT,
  },
  refusedField: {
    title: 'A GraphQL query is refused as well, with the seconds to wait',
    act: query,
    log: [],
    carrier: NOTHING,
    expected: {
      '200 with a null field, CIRCUIT_OPEN and retryAfter': ([answer]) =>
        answer?.status === 200 && answer.body.replace(/(?<="retryAfter":)[1-9]\d*/, '<seconds>') === REFUSED_FIELD,
      'at once': took(0, 0),
    },
    whenBusy: LATE_TIMEOUT,
  },
  message: {
    title: 'A message over TCP gets the same failure as a payload',
    act: async (shop) => [await shop.message('shipping.quotes', { orderId: '1001' })],
    log: [],
    carrier: NOTHING,
    expected: {
      'CIRCUIT_OPEN as a payload, with retryAfter': ([answer]) => REFUSED_MESSAGE.test(answer?.body ?? ''),
      'at once': took(0, 0),
    },
    whenBusy: LATE_TIMEOUT,
  },
  stoppingJob: {
    title: 'The repricing job, on the same breaker, stops',
    act: reprice,
    log: ['WARN [RepricingService] The carrier is unavailable, stopping after 0 of 8 orders'],
    carrier: NOTHING,
    expected: { 'no order repriced': all(200, '{"repriced":0}'), 'at once': took(0, 0) },
    whenBusy: LATE_TIMEOUT,
  },
  exports: {
    title: 'Six exports at once: two run, three wait, one is refused',
    act: (shop) => times(6, () => shop.get('/orders/export')),
    log: ['WARN [Resilience] OrdersController.export is at capacity (2 running, 3 queued)'],
    carrier: NOTHING,
    expected: {
      'five files': (answers) => count(answers, 200) === 5,
      'in three rounds of two seconds': (answers) => inRounds(at(answers, 200), [2000, 2000, 4000, 4000, 6000]),
      'one 503 BULKHEAD_FULL': (answers) => all(503, AT_CAPACITY)(answers.filter(({ status }) => status !== 200)),
      'at once': (answers) => inRounds(at(answers, 503), [0]),
      'without Retry-After': (answers) => answers.every(({ retryAfter }) => retryAfter === null),
    },
    whenBusy: LATE_ANSWER,
  },
  lookUps: {
    title: 'Eight look-ups at the partner: five go, one waits, two are refused',
    act: (shop) => times(8, (index) => shop.get(`/tracking/CAT00000${index}`)),
    log: [],
    carrier: { requests: 6, cancelled: 0 },
    expected: {
      'six answers, five at once': (answers) => inRounds(at(answers, 200).slice(0, 5), [0, 0, 0, 0, 0]),
      'the last a second after the first look-up': lastOneAfter(1000),
      'two 503 RATE_LIMITED': (answers) => all(503, OVER_LIMIT)(answers.filter(({ status }) => status !== 200)),
      'at once': (answers) => inRounds(at(answers, 503), [0, 0]),
      'with Retry-After: 2': (answers) =>
        answers.every(({ status, retryAfter }) => status === 200 || retryAfter === '2'),
    },
    whenBusy: LATE_SENDING,
  },
  recovery: {
    title: 'The carrier answers again, and the next quote after openDuration is the probe',
    act: async (shop) => {
      await shop.carrier({ mode: 'answer' });
      await shop.untilRetryAfter();
      return quotes('1001')(shop);
    },
    log: [
      'WARN [Resilience] Circuit "carrier" went from open to half-open',
      'WARN [Resilience] Circuit "carrier" went from half-open to closed',
    ],
    carrier: { requests: 1, cancelled: 0 },
    expected: { '200 with the quotes of the carrier': all(200, LIVE_QUOTES) },
    whenBusy: EARLIER_STEPS,
  },
  bookingAgain: {
    title: 'The booking, sent again',
    act: book('1001'),
    log: [],
    carrier: { requests: 1, cancelled: 0 },
    expected: {
      '201 with the shipment, since the 503 has freed the key': all(201, SHIPMENT),
      'without Idempotent-Replayed': ([answer]) => answer?.replayed === null,
    },
    whenBusy: EARLIER_STEPS,
  },
  repeatedBooking: {
    title: 'The booking, sent once more with its key: the stored answer',
    act: book('1001'),
    log: [],
    carrier: NOTHING,
    expected: REPLAYED,
    whenBusy: EARLIER_STEPS,
  },
  reusedKey: {
    title: 'The same key for another order is refused',
    act: book('1002'),
    log: [],
    carrier: NOTHING,
    expected: { '422 IDEMPOTENCY_KEY_REUSED': all(422, KEY_REUSED) },
    whenBusy: EARLIER_STEPS,
  },
  workingJob: {
    title: 'The repricing job, with a carrier that answers',
    act: reprice,
    log: [],
    carrier: { requests: 8, cancelled: 0 },
    expected: { 'every pending order repriced': all(200, '{"repriced":8}') },
    whenBusy: EARLIER_STEPS,
  },
  openingAgain: {
    title: 'The carrier hangs again: seven quotes at once open the breaker',
    act: async (shop) => {
      await shop.carrier({ mode: 'hang' });
      return times(7, (index) => shop.get(`/shipping/quotes?orderId=${1000 + index}`));
    },
    log: ['WARN [Resilience] Circuit "carrier" went from closed to open'],
    carrier: { requests: 14, cancelled: 14 },
    expected: { '504 TIMEOUT': all(504, TIMED_OUT), 'each after 3.0 to 3.2 s': took(3000, 3200) },
    whenBusy: LATE_TIMEOUT,
  },
  replayWhileOpen: {
    title: 'The booking again, while the breaker is open',
    act: book('1001'),
    log: [],
    carrier: NOTHING,
    expected: { ...REPLAYED, 'at once': took(0, 0) },
    whenBusy: EARLIER_STEPS,
  },
  replayAfterRestart: {
    title: 'The shop is started anew (SIGTERM), and the booking sent again',
    restart: 'SIGTERM',
    act: book('1001'),
    log: [],
    carrier: NOTHING,
    expected: REPLAYED,
    whenBusy: EARLIER_STEPS,
  },
  replayAfterCrash: {
    title: 'The shop is killed and started anew (SIGKILL), and the booking sent again',
    restart: 'SIGKILL',
    act: book('1001'),
    log: [],
    carrier: NOTHING,
    expected: REPLAYED,
    whenBusy: EARLIER_STEPS,
  },
} as const satisfies Record<string, Step>;

/**
 * Whether the last of six answers came that long after the first request was sent. Its own request may have been sent
 * later than the others, and then has waited for less.
 */
function lastOneAfter(roundMs: number): (answers: readonly Answer[]) => boolean {
  return (answers) => {
    const firstSentAt = Math.min(...answers.map(({ sentAt }) => sentAt));
    const good = answers.filter(({ status }) => status === 200);
    const cameAt = Math.max(...good.map(({ sentAt, elapsedMs }) => sentAt + elapsedMs));
    const slowest = Math.max(...good.map(({ elapsedMs }) => elapsedMs));

    return good.length === 6 && cameAt - firstSentAt >= roundMs - EARLY_MS && slowest < roundMs + LATE_MS;
  };
}

/** Every answer came in its round: not before it, and before the next could begin. */
function inRounds(elapsedMs: readonly number[], roundsMs: readonly number[]): boolean {
  return (
    elapsedMs.length === roundsMs.length &&
    roundsMs.every((roundMs, index) => {
      const elapsed = elapsedMs[index] ?? Number.NaN;
      return elapsed >= roundMs - EARLY_MS && elapsed < roundMs + LATE_MS;
    })
  );
}
