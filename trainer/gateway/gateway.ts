import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { ChatBackendError } from '../protocol/chat.ts';
import type { ChatBackend } from '../protocol/chat.ts';
import type { AttemptedRollout } from '../protocol/rollout.ts';
import type { Store } from '../store/store.ts';
import { Attribution } from './attribution.ts';
import type { Place } from './attribution.ts';
import { callSeed } from './call-seed.ts';
import { callSpan } from './call-span.ts';
import type { CallResult } from './call-span.ts';
import { serveCall } from './chat-call.ts';
import { applyOverrides, parseChatRequest } from './chat-request.ts';
import { Replays } from './replays.ts';
import { errorBody, errorHeaders, invalidRequest, toBackendError } from './openai-error.ts';

/** Long contexts and images in base64. */
const bodyLimitBytes = 32 * 1024 * 1024;

/** An LLM call under way; `since` in seconds since the epoch. */
export interface OpenCall { rollout_id: string | null; since: number }

interface AttemptParams { rid?: string; aid?: string }

/** The OpenAI-compatible proxy. Calls under `/rollout/:rid/attempt/:aid` are recorded in the store; others are only served. */
export class Gateway {
  /** By the name that a rollout's `config.backend` uses. */
  readonly backends = new Map<string, ChatBackend>();
  defaultBackend: string | null = null;
  readonly #store: Store;
  readonly #keyHash: Buffer;
  readonly #attribution: Attribution;
  readonly #open = new Set<OpenCall>();
  readonly #replays: Replays;

  constructor(store: Store, options: { key: string }) {
    this.#store = store;
    this.#keyHash = sha256(options.key);
    this.#attribution = new Attribution(store);
    this.#replays = new Replays(store);
  }

  /** The LLM calls being answered now, oldest first. */
  openCalls(): OpenCall[] {
    return [...this.#open];
  }

  /** The routes, with their own error shape. */
  readonly plugin: FastifyPluginAsync = async (app: FastifyInstance) => {
    app.removeAllContentTypeParsers();
    // Parsed by us: a malformed body of an attempt is part of its trace, whatever its content type says.
    app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
    app.addHook('onRequest', async (request) => this.#checkKey(request));
    app.addHook('onClose', async () => {
      this.#attribution.stop();
      this.#replays.stop();
    });
    app.setErrorHandler((error, _request, reply) => {
      const failure = toBackendError(error);
      void reply.status(failure.status).headers(errorHeaders(failure)).send(errorBody(failure));
    });
    // Base URLs with and without /v1 are both in use: a doubled one is forgiven.
    for (const prefix of ['', '/rollout/:rid/attempt/:aid']) {
      for (const version of ['/v1', '/v1/v1']) {
        app.post<{ Params: AttemptParams }>(`${prefix}${version}/chat/completions`, { bodyLimit: bodyLimitBytes }, (request, reply) => this.#chat(request, reply));
        app.get<{ Params: AttemptParams }>(`${prefix}${version}/models`, (request) => this.#listModels(request));
      }
    }
  };

  async #chat(request: FastifyRequest<{ Params: AttemptParams }>, reply: FastifyReply): Promise<FastifyReply> {
    const { rid, aid } = request.params;
    const started = now();
    const traceparent = request.headers['traceparent'];
    const place = rid !== undefined && aid !== undefined ? this.#attribution.place(rid, aid, typeof traceparent === 'string' ? traceparent : undefined) : null;
    const result: CallResult = { asked: null, provider: 'agent_trainer', completion: null, tokens: null, sampling: null, error: null, attributes: {} };
    const open = { rollout_id: rid ?? null, since: started };
    this.#open.add(open);
    let recorded = false;
    const record = (outcome: Partial<CallResult>) => {
      if (place && !recorded) this.#store.addSpans([callSpan(place, started, now(), { ...result, ...outcome })]);
      recorded = true;
    };
    try {
      result.asked = parseChatRequest(request.body);
      const replayed = place && this.#replays.serve(place, result.asked);
      if (replayed) ({ asked: result.asked, attributes: result.attributes } = replayed);
      const backend = replayed?.recorded ?? await this.#backendFor(place?.rollout ?? null, result.asked.model);
      result.provider = backend.provider ?? result.provider;
      const seed = seedOf(place, result.asked.seed ?? null);
      const sampling = place?.rollout.config.sampling ?? {};
      const effective = applyOverrides(result.asked, sampling, seed);
      const context = { rollout_id: rid ?? null, attempt_id: aid ?? null, mode: place?.rollout.mode ?? null, seed, dtype: sampling.dtype, signal: disconnected(reply) };
      await serveCall({ backend, asked: result.asked, effective, context, record }, reply);
    } catch (error) {
      record({ error: toBackendError(error) });
      throw error;
    } finally {
      this.#open.delete(open);
    }
    return reply;
  }

  async #listModels(request: FastifyRequest<{ Params: AttemptParams }>): Promise<unknown> {
    const rollout = request.params.rid === undefined ? null : (this.#store.getRollout(request.params.rid) ?? null);
    const models = (await Promise.all(this.#candidates(rollout).map(async (backend) => ({ backend, ids: await backend.models() }))))
      .flatMap(({ backend, ids }) => ids.map((id) => ({ id, object: 'model', created: 0, owned_by: backend.provider ?? 'agent_trainer' })));
    return { object: 'list', data: models };
  }

  /** Throws OpenAI's 404 listing what exists when no backend of the rollout has the model. */
  async #backendFor(rollout: AttemptedRollout | null, model: string): Promise<ChatBackend> {
    const available: string[] = [];
    for (const backend of this.#candidates(rollout)) {
      const models = await backend.models();
      if (models.includes(model)) return backend;
      available.push(...models);
    }
    throw invalidRequest(`The model \`${model}\` does not exist here. Available: ${available.map((name) => `\`${name}\``).join(', ')}.`, { status: 404, param: 'model', code: 'model_not_found' });
  }

  /** The rollout's backend; without a rollout all of them, the default first. */
  #candidates(rollout: AttemptedRollout | null): ChatBackend[] {
    const name = rollout?.config.backend ?? this.defaultBackend;
    const named = name === null ? undefined : this.backends.get(name);
    const candidates = rollout ? [named] : [named, ...[...this.backends.values()].filter((backend) => backend !== named)];
    const existing = candidates.filter((backend) => backend !== undefined);
    if (existing.length > 0) return existing;
    throw new ChatBackendError(503, 'server_error', name === null ? 'The trainer serves no model now. Start a run, or set a model for it.' : `The model backend "${name}" is not being served. The run it belongs to has ended.`, { code: 'no_backend' });
  }

  async #checkKey(request: FastifyRequest): Promise<void> {
    const bearer = /^Bearer\s+(.+)$/i.exec(request.headers.authorization ?? '')?.[1];
    const given = bearer ?? request.headers['x-api-key'];
    if (typeof given === 'string' && timingSafeEqual(sha256(given), this.#keyHash)) return;
    throw invalidRequest(given === undefined ? 'No API key was given. Send the key that the trainer hands to the agent as "Authorization: Bearer KEY".' : 'The API key is not the one of this trainer.', { status: 401, code: 'invalid_api_key' });
  }
}

function seedOf(place: Place | null, asked: number | null): number | null {
  const seed = place?.rollout.config.seed ?? null;
  return asked ?? (place && seed !== null ? callSeed(seed, place.call_index) : null);
}

/** Aborts when the agent closes the connection before its answer is complete. */
function disconnected(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once('close', () => { if (!reply.raw.writableFinished) controller.abort(); });
  return controller.signal;
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** Seconds since the epoch, with microseconds. */
function now(): number {
  return (performance.timeOrigin + performance.now()) / 1000;
}
