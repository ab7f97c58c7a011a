import { questionKey, type AskOptimizer } from '../optimize/proposer.ts';
import { ChatBackendError, type ChatBackend, type ChatCompletion, type ChatMessage } from '../protocol/chat.ts';
import { messageOf, TrainerError } from '../protocol/errors.ts';
import { withBackend, type ModelSource } from './backends.ts';
import type { Session } from './session.ts';

/**
 * The optimiser while `use` runs: the model chosen for it, else the agent's own, served under the run's name. An answer is kept before it
 * counts; the same question is answered from there, so that a resumed search gets the answers it got.
 */
export async function withOptimizer<T>(session: Session, source: ModelSource | null, agentModel: string, use: (ask: AskOptimizer) => Promise<T>): Promise<T> {
  const { gateway, run_id } = session;
  if (source === null) return use(keptAnswers(session, gateway.backends.get(run_id)!, agentModel));
  const name = `${run_id}/optimizer`;
  return withBackend(session, name, source, ({ modelName }) => use(keptAnswers(session, gateway.backends.get(name)!, modelName)));
}

function keptAnswers({ store, run_id }: Session, backend: ChatBackend, model: string): AskOptimizer {
  const kept = new Map(store.listAnswers(run_id).map((answer) => [answer.key, answer]));
  return async (messages, seed, signal) => {
    const key = questionKey(messages, seed);
    const known = kept.get(key);
    if (known) return known;
    const { choices, usage } = await complete(backend, model, messages, seed, signal);
    const answer = { key, messages, text: choices[0]?.message.content ?? '', input_tokens: usage?.prompt_tokens ?? 0, output_tokens: usage?.completion_tokens ?? 0 };
    store.addAnswer(run_id, answer);
    return answer;
  };
}

async function complete(backend: ChatBackend, model: string, messages: ChatMessage[], seed: number, signal: AbortSignal): Promise<ChatCompletion> {
  try {
    for await (const event of backend.chat({ model, messages, seed }, { rollout_id: null, attempt_id: null, mode: null, seed, signal })) {
      if (event.type === 'done') return event.completion;
    }
  } catch (error) {
    if (signal.aborted) throw new TrainerError('cancelled', 'The question to the optimiser was given up.', { cause: error });
    if (!(error instanceof ChatBackendError)) throw error;
    throw new TrainerError('upstream', `The optimiser (${model}) failed: ${messageOf(error)}`, { cause: error });
  }
  throw new TrainerError('upstream', `The optimiser (${model}) broke off its answer.`);
}
