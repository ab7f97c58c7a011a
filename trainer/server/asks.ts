import { ChatBackendError } from '../protocol/chat.ts';
import type { CallContext, ChatBackend, ChatCompletion, ChatEvent, ChatRequest } from '../protocol/chat.ts';
import { TrainerError } from '../protocol/errors.ts';
import type { Answer } from '../protocol/endpoints.ts';

interface Waiting { resolve: (completion: ChatCompletion) => void; reject: (error: Error) => void }

/** What one client is asked: chat requests for a model that only it can reach. */
export class Asks {
  readonly #send: (frame: object) => void;
  readonly #waiting = new Map<number, Waiting>();
  #asked = 0;
  #closed = false;

  constructor(send: (frame: object) => void) {
    this.#send = send;
  }

  /** A model of the client as a backend. The editor says neither tokens nor how it sampled. */
  backend(model: { id: string; name: string }): ChatBackend {
    const ask = (request: ChatRequest, signal: AbortSignal) => this.#ask(model.id, request, signal);
    return {
      provider: 'vscode',
      models: async () => [model.name],
      async *chat(request: ChatRequest, { signal }: CallContext): AsyncIterable<ChatEvent> {
        const completion = await ask(request, signal);
        yield { type: 'done', completion, tokens: null, sampling: { temperature: null, top_p: null, top_k: null, max_tokens: null, seed: null, stop: [], constrained: false } };
      },
    };
  }

  /** Throws TrainerError 'not_found' for an ask that is over. */
  answer({ ask_id, outcome }: Answer): void {
    const waiting = this.#waiting.get(ask_id);
    if (!waiting) throw new TrainerError('not_found', `Nobody waits for an answer to ask ${ask_id}.`);
    if ('completion' in outcome) waiting.resolve(outcome.completion);
    else waiting.reject(new ChatBackendError(outcome.error.status, 'server_error', outcome.error.message, outcome.error.code === undefined ? {} : { code: outcome.error.code }));
  }

  close(): void {
    this.#closed = true;
    for (const { reject } of this.#waiting.values()) reject(editorGone());
  }

  #ask(model: string, request: ChatRequest, signal: AbortSignal): Promise<ChatCompletion> {
    if (this.#closed) return Promise.reject(editorGone());
    const ask_id = ++this.#asked;
    const aborted = (): void => {
      this.#send({ ask_over: { ask_id } });
      this.#waiting.get(ask_id)?.reject(new ChatBackendError(499, 'client_error', 'The call was given up.', { code: 'client_disconnected' }));
    };
    return new Promise<ChatCompletion>((resolve, reject) => {
      this.#waiting.set(ask_id, { resolve, reject });
      signal.addEventListener('abort', aborted, { once: true });
      this.#send({ ask: { ask_id, model, request } });
    }).finally(() => {
      this.#waiting.delete(ask_id);
      signal.removeEventListener('abort', aborted);
    });
  }
}

function editorGone(): ChatBackendError {
  return new ChatBackendError(503, 'server_error', 'The editor whose model was used has gone. Start the run again there.', { code: 'editor_gone' });
}
