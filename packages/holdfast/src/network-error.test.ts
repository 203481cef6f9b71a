import { describe, expect, it } from 'vitest';
import { CircuitOpenError, ResilienceTimeoutError } from './errors.js';
import { isNetworkError } from './network-error.js';

const timeout = new ResilienceTimeoutError(1_500, 'carrier');
const open = new CircuitOpenError('carrier', 30_000);
const coded = (code: string, more: object = {}): Error => Object.assign(new Error(`of ${code}`), { code, ...more });
const bare = (message: string): TypeError => new TypeError(message);
const allRefused = Object.assign(new AggregateError([coded('ECONNREFUSED')]), { code: 'ECONNREFUSED' });
describe('a network error', () => {
  it.each([
    ['fetch of Node, connection refused', new TypeError('fetch failed', { cause: coded('ECONNREFUSED') })],
    ['fetch of Node, no cause', bare('fetch failed')],
    ['fetch of Node, body cut', new TypeError('terminated', { cause: coded('UND_ERR_SOCKET') })],
    ['fetch of Node, all addresses refused', new TypeError('fetch failed', { cause: allRefused })],
    ['undici, connect timeout', coded('UND_ERR_CONNECT_TIMEOUT', { name: 'ConnectTimeoutError' })],
    ['undici, headers timeout', coded('UND_ERR_HEADERS_TIMEOUT', { name: 'HeadersTimeoutError' })],
    ['undici, other side closed', coded('UND_ERR_SOCKET', { name: 'SocketError' })],
    ['node:http, reset', coded('ECONNRESET')],
    ['node:http, name not found', coded('ENOTFOUND')],
    ['node:http, name service busy', coded('EAI_AGAIN')],
    ['axios on Node', coded('ECONNREFUSED', { name: 'AxiosError', request: {}, response: undefined })],
    ['axios in a browser', coded('ERR_NETWORK', { name: 'AxiosError', message: 'Network Error' })],
    ['axios, timeout', coded('ECONNABORTED', { name: 'AxiosError' })],
    ['got', coded('ECONNRESET', { name: 'RequestError' })],
    ['got, timeout', coded('ETIMEDOUT', { name: 'TimeoutError' })],
    [
      'Bun, refused',
      coded('ConnectionRefused', { message: 'Unable to connect. Is the computer able to access the url?' }),
    ],
    ['Bun, closed', coded('ConnectionClosed')],
    ['Deno', bare('error sending request for url (http://localhost:1/): client error (Connect): tcp connect error')],
    ['Chrome', bare('Failed to fetch')],
    ['Chrome, body cut', bare('network error')],
    ['Firefox', bare('NetworkError when attempting to fetch resource.')],
    ['Safari', bare('Load failed')],
    ['Safari, with the host', bare('Load failed (api.example.com)')],
    ['Safari, offline', bare('The Internet connection appears to be offline.')],
    ['Safari, cut', bare('The network connection was lost.')],
    ['React Native and cross-fetch', bare('Network request failed')],
    ['workerd', new Error('Network connection lost.')],
  ])('is that of %s', (_client, error) => {
    expect(isNetworkError(error)).toBe(true);
  });

  it('is found below the error that wraps it', () => {
    const wrapped = new Error('could not load the quotes', { cause: bare('fetch failed') });

    expect(isNetworkError(wrapped)).toBe(true);
    expect(isNetworkError(new Error('again', { cause: wrapped }))).toBe(true);
  });

  it('is not looked for without end', () => {
    const circular = new Error('of itself');
    circular.cause = circular;

    expect(isNetworkError(circular)).toBe(false);
  });

  it.each([
    ['a mistake in the program', new TypeError("Cannot read properties of undefined (reading 'fetch')")],
    ['an invalid URL', Object.assign(new TypeError('Failed to parse URL from x'), { code: 'ERR_INVALID_URL' })],
    ['an answer with a status', coded('ERR_BAD_RESPONSE', { name: 'AxiosError', response: { status: 500 } })],
    ['an answer, whatever its code', coded('ECONNABORTED', { response: { status: 200 } })],
    ['an abort by the caller', new DOMException('This operation was aborted', 'AbortError')],
    ['a cancelled axios call', coded('ERR_CANCELED', { name: 'CanceledError' })],
    ['an error of another kind that quotes one', Object.assign(new Error('fetch failed'), { name: 'ValidationError' })],
    ['a sentence that only contains one', new Error('The fetch failed because of the schema')],
    ['our own timeout', timeout],
    ['our own refusal', open],
    ['a plain error', new Error('boom')],
    ['a status', { status: 503 }],
    ['nothing', undefined],
    ['null', null],
    ['a text', 'ECONNREFUSED'],
  ])('is not %s', (_what, error) => {
    expect(isNetworkError(error)).toBe(false);
  });
});
