import { connect, type Socket } from 'node:net';
import { once } from 'node:events';

/** What a POST sends. */
export interface Sent {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * One keep-alive connection that sends the same request over and over. Answers to it have the same length each time,
 * so it counts bytes instead of parsing: a full client would cost more than what is measured.
 */
export class KeepAliveClient {
  readonly #socket: Socket;
  readonly #request: Buffer;
  #answerLength = 0;
  #received = 0;
  #answered: () => void = () => {};
  #lost: (error: Error) => void = () => {};

  private constructor(socket: Socket, path: string, sent: Sent | undefined) {
    this.#socket = socket;
    this.#request = Buffer.from(requestText(path, sent));
  }

  static async open(port: number, path: string, sent?: Sent): Promise<KeepAliveClient> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    const client = new KeepAliveClient(socket, path, sent);
    await client.#learnAnswer();
    if (sent !== undefined) await client.#learnAnswer();
    socket.on('data', (chunk) => client.#onData(chunk));
    socket.on('close', () => client.#lost(new Error('The server closed the connection')));

    return client;
  }

  readonly get = (): Promise<void> =>
    new Promise((resolve, reject) => {
      this.#received = 0;
      this.#answered = resolve;
      this.#lost = reject;
      if (this.#socket.destroyed) reject(new Error('The server has closed the connection'));
      this.#socket.write(this.#request);
    });

  close(): void {
    this.#socket.destroy();
  }

  async #learnAnswer(): Promise<void> {
    this.#answerLength = 0;
    this.#socket.write(this.#request);
    let answer = '';
    while (this.#answerLength === 0 || answer.length < this.#answerLength) {
      const [chunk] = (await once(this.#socket, 'data')) as [Buffer];
      answer += chunk.toString('latin1');
      this.#answerLength = lengthOf(answer);
    }
    // What is measured of a POST are its repetitions, which may have more headers than the first answer.
    if (!/^HTTP\/1\.1 20[01] /.test(answer)) throw new Error(`The application answered ${answer}`);
  }

  #onData(chunk: Buffer): void {
    this.#received += chunk.length;
    if (this.#received === this.#answerLength) this.#answered();
    else if (this.#received > this.#answerLength) throw new Error('An answer was longer than the first one');
  }
}

function requestText(path: string, sent: Sent | undefined): string {
  const lines = ['Host: 127.0.0.1', 'Connection: keep-alive'];
  if (sent !== undefined) {
    lines.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(sent.body)}`);
    lines.push(...Object.entries(sent.headers).map(([name, value]) => `${name}: ${value}`));
  }

  return `${sent === undefined ? 'GET' : 'POST'} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${sent?.body ?? ''}`;
}

/** Of head and body together; 0 while the head is not complete. */
function lengthOf(answer: string): number {
  const headLength = answer.indexOf('\r\n\r\n') + 4;
  const bodyLength = /content-length: (\d+)/i.exec(answer)?.[1];
  if (headLength < 4 || bodyLength === undefined) return 0;

  return headLength + Number(bodyLength);
}
