import { EventEmitter, once } from 'node:events';
import { STATUS_CODES } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import { refusalOf, sameSecret, tokenOf } from './access.ts';
import { serveConnection } from './rpc-connection.ts';
import type { RpcParts } from './rpc-handlers.ts';

const path = '/v1/ws';
/** WebSocket close code, RFC 6455. */
const goingAway = 1001;
const goodbyeMs = 1000;
const largestRequestBytes = 16 * 1024 * 1024;

/** The WebSocket clients of one trainer. */
export class Connections {
  readonly #sockets: WebSocketServer;
  readonly #left = new EventEmitter();
  readonly #token: string;

  constructor(server: Server, token: string, parts: RpcParts, log: (line: string) => void) {
    this.#token = token;
    this.#sockets = new WebSocketServer({ noServer: true, maxPayload: largestRequestBytes, handleProtocols: (offered) => (offered.has('agent-trainer') ? 'agent-trainer' : false) });
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      const refusal = this.#refusal(request);
      if (refusal) return refuse(socket, ...refusal);
      this.#sockets.handleUpgrade(request, socket, head, (client) => {
        client.on('close', () => this.#left.emit('left'));
        serveConnection(client, parts, log);
      });
    });
  }

  get clients(): ReadonlySet<WebSocket> {
    return this.#sockets.clients;
  }

  /** Resolves once no client is connected. */
  async whenNone(): Promise<void> {
    while (this.clients.size > 0) await once(this.#left, 'left');
  }

  /** Says goodbye to every client, and cuts off those that do not answer. */
  async close(): Promise<void> {
    for (const client of this.clients) client.close(goingAway, 'The trainer ends.');
    this.#sockets.close();
    await Promise.race([this.whenNone(), sleep(goodbyeMs, undefined, { ref: false })]);
    for (const client of this.clients) client.terminate();
  }

  #refusal({ url, headers }: IncomingMessage): [status: number, message: string] | null {
    if (url?.split('?')[0] !== path) return [404, `WebSockets are served at ${path}.`];
    const refusal = refusalOf(headers);
    if (refusal !== null) return [403, refusal];
    const token = tokenOf(headers);
    return token !== null && sameSecret(token, this.#token) ? null : [401, 'The token is missing or not the one in server.json.'];
  }
}

function refuse(socket: Duplex, status: number, message: string): void {
  socket.on('error', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\ncontent-type: text/plain\r\ncontent-length: ${Buffer.byteLength(message)}\r\n\r\n${message}`);
}
