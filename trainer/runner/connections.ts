import { randomBytes } from 'node:crypto';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { z } from 'zod';

/** Of one message. Spans are bounded by the runtime; a longer line is no message. */
const maxLine = 16 * 1024 * 1024; // characters

const Hello = z.object({ type: z.literal('hello'), token: z.string() });

/** One worker's socket, as lines. */
export class Connection {
  onLine: (line: string) => void = () => {};
  onTooLong: () => void = () => {};
  onClose: () => void = () => {};
  readonly #socket: Socket;
  #rest = '';

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding('utf8');
    socket.setNoDelay(true);
    socket.on('error', () => {}); // the worker's exit tells more
    socket.on('close', () => this.onClose());
    socket.on('data', (chunk: string) => this.#read(chunk));
  }

  send(message: object): void {
    this.#socket.write(`${JSON.stringify(message)}\n`);
  }

  close(): void {
    this.onLine = () => {};
    this.#socket.destroy();
  }

  #read(chunk: string): void {
    const lines = chunk.split('\n');
    lines[0] = this.#rest + lines[0]!;
    this.#rest = lines.pop()!;
    for (const line of lines) this.onLine(line);
    if (this.#rest.length > maxLine) this.onTooLong();
  }
}

/** The loopback socket that workers connect to. Each is let in once, by the token it was started with. */
export class Connections {
  readonly #server: Server;
  readonly #expected = new Map<string, (connection: Connection) => void>();
  readonly #strangers = new Set<Connection>();

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket) => this.#greet(new Connection(socket)));
  }

  static async listen(): Promise<Connections> {
    const server = createServer();
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    return new Connections(server);
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** A new token; whoever says hello with it is handed to `connected`. */
  expect(connected: (connection: Connection) => void): { token: string; forget: () => void } {
    const token = randomBytes(16).toString('hex');
    this.#expected.set(token, connected);
    return { token, forget: () => this.#expected.delete(token) };
  }

  close(): void {
    this.#server.close();
    for (const stranger of this.#strangers) stranger.close();
  }

  #greet(connection: Connection): void {
    this.#strangers.add(connection);
    connection.onTooLong = () => connection.close();
    connection.onLine = (line) => {
      this.#strangers.delete(connection);
      const token = tokenOf(line);
      const connected = token === undefined ? undefined : this.#expected.get(token);
      if (token === undefined || !connected) return connection.close();
      this.#expected.delete(token);
      connected(connection);
    };
  }
}

function tokenOf(line: string): string | undefined {
  try {
    return Hello.parse(JSON.parse(line)).token;
  } catch {
    return undefined;
  }
}
