import { connect, type Socket } from 'node:net';
import { once } from 'node:events';

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

  private constructor(socket: Socket, path: string) {
    this.#socket = socket;
    this.#request = Buffer.from(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: keep-alive\r\n\r\n`);
  }

  static async open(port: number, path: string): Promise<KeepAliveClient> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    const client = new KeepAliveClient(socket, path);
    await client.#learnAnswer();
    socket.on('data', (chunk) => client.#onData(chunk));

    return client;
  }

  readonly get = (): Promise<void> =>
    new Promise((resolve) => {
      this.#received = 0;
      this.#answered = resolve;
      this.#socket.write(this.#request);
    });

  close(): void {
    this.#socket.destroy();
  }

  async #learnAnswer(): Promise<void> {
    this.#socket.write(this.#request);
    let answer = '';
    while (this.#answerLength === 0 || answer.length < this.#answerLength) {
      const [chunk] = (await once(this.#socket, 'data')) as [Buffer];
      answer += chunk.toString('latin1');
      this.#answerLength = lengthOf(answer);
    }
    if (!answer.startsWith('HTTP/1.1 200 ')) throw new Error(`The application answered ${answer}`);
  }

  #onData(chunk: Buffer): void {
    this.#received += chunk.length;
    if (this.#received === this.#answerLength) this.#answered();
    else if (this.#received > this.#answerLength) throw new Error('An answer was longer than the first one');
  }
}

/** Of head and body together; 0 while the head is not complete. */
function lengthOf(answer: string): number {
  const headLength = answer.indexOf('\r\n\r\n') + 4;
  const bodyLength = /content-length: (\d+)/i.exec(answer)?.[1];
  if (headLength < 4 || bodyLength === undefined) return 0;

  return headLength + Number(bodyLength);
}
