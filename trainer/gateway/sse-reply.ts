import { once } from 'node:events';
import type { FastifyReply } from 'fastify';

/** Server-sent events to one agent. Writing waits while the agent does not read. */
export class SseReply {
  readonly #reply: FastifyReply;
  readonly #signal: AbortSignal;
  #open = false;

  constructor(reply: FastifyReply, signal: AbortSignal) {
    this.#reply = reply;
    this.#signal = signal;
  }

  /** Headers are sent: the status can no longer change. */
  get open(): boolean {
    return this.#open;
  }

  async send(data: unknown): Promise<void> {
    await this.#write(JSON.stringify(data));
  }

  async done(): Promise<void> {
    await this.#write('[DONE]');
    this.#reply.raw.end();
  }

  /** The stream ends here with an error event, without `[DONE]`. */
  async fail(error: unknown): Promise<void> {
    await this.send(error);
    this.#reply.raw.end();
  }

  async #write(data: string): Promise<void> {
    const raw = this.#reply.raw;
    if (!this.#open) {
      this.#reply.hijack();
      raw.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
      this.#open = true;
    }
    if (!raw.write(`data: ${data}\n\n`)) await once(raw, 'drain', { signal: this.#signal });
  }
}
