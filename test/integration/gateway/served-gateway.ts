import fastify from 'fastify';
import OpenAI from 'openai';
import type { AttemptedRollout } from '../../../trainer/protocol/rollout.ts';
import { Gateway } from '../../../trainer/gateway/gateway.ts';
import { OpenAIBackend } from '../../../trainer/gateway/openai-backend.ts';
import { openStore } from '../../../trainer/store/store.ts';
import type { RolloutInput, Store } from '../../../trainer/store/store.ts';
import { startOpenAIServer } from '../../fixtures/openai-server.ts';
import type { OpenAIServer } from '../../fixtures/openai-server.ts';

export const key = 'test-key';

/** A gateway on a real port, with a store in memory, in front of a scripted model server. */
export interface ServedGateway {
  url: string;
  gateway: Gateway;
  store: Store;
  server: OpenAIServer;
  /** A running attempt and the base URL its agent gets. */
  startAttempt(config?: RolloutInput['config']): { rollout: AttemptedRollout; rollout_id: string; attempt_id: string; baseURL: string };
  /** An SDK client that does not retry by itself. */
  client(baseURL: string): OpenAI;
  close(): Promise<void>;
}

export async function serveGateway(): Promise<ServedGateway> {
  const server = await startOpenAIServer();
  const store = openStore(':memory:');
  const gateway = new Gateway(store, { key });
  gateway.backends.set('upstream', new OpenAIBackend({ baseUrl: server.url, apiKey: 'sk-upstream', model: 'tiny', retry: { tries: 3, baseDelayMs: 1 } }));
  gateway.defaultBackend = 'upstream';
  const app = fastify({ forceCloseConnections: true });
  await app.register(gateway.plugin);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return {
    url, gateway, store, server,
    startAttempt: (config) => {
      store.enqueueRollouts([{ input: { question: 'hi' }, mode: 'train', ...(config ? { config } : {}) }]);
      const rollout = store.dequeueRollout('worker');
      if (!rollout?.attempt) throw new Error('no attempt');
      const { rollout_id, attempt: { attempt_id } } = rollout;
      return { rollout, rollout_id, attempt_id, baseURL: `${url}/rollout/${rollout_id}/attempt/${attempt_id}/v1` };
    },
    client: (baseURL) => new OpenAI({ baseURL, apiKey: key, maxRetries: 0 }),
    close: async () => {
      await app.close();
      store.close();
      await server.close();
    },
  };
}
