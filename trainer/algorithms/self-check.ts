import { toTransitions } from '../adapter/transitions.ts';
import type { Task } from '../datasets/tasks.ts';
import { TrainerError } from '../protocol/errors.ts';
import type { AttemptedRollout, SamplingOverrides } from '../protocol/rollout.ts';
import { attr, isLlmCall, numbersOf, type Span } from '../protocol/span.ts';
import { outcomeOf, rollOut, type RolloutSource } from './rollouts.ts';
import { deriveSeed } from './seeds.ts';

export interface SelfCheckSettings { sampling: SamplingOverrides; seed: number; agent_match: string | undefined }

/** What the rollout of the check showed. */
export interface SelfCheckReport { calls: number; trainable: number; agents: string[]; tools: number; reward: number }

/**
 * One rollout of `task`, before any training, that must show all training needs: LLM calls, token ids,
 * log-probabilities, an agent that `agent_match` selects, a reward.
 * Throws TrainerError 'agent' with the first thing that is missing and what to do about it.
 */
export async function selfCheck(source: RolloutSource, task: Task, settings: SelfCheckSettings): Promise<SelfCheckReport> {
  const [rollout] = await rollOut(source, [{
    task, mode: null, step: null, sampling: settings.sampling, seed: deriveSeed(settings.seed, 'self-check'), metadata: { self_check: true },
  }]);
  return inspect(rollout!, source.store.listSpans(rollout!.rollout_id), settings.agent_match);
}

/** The check on a finished rollout. */
export function inspect(rollout: AttemptedRollout, spans: Span[], agent_match: string | undefined): SelfCheckReport {
  const fail = (problem: string): never => {
    throw new TrainerError('agent', `The self-check rollout ${rollout.rollout_id} ${problem}`, { details: { rollout_id: rollout.rollout_id } });
  };
  const calls = spans.filter(isLlmCall);
  const outcome = outcomeOf(rollout);
  if (outcome !== 'scored' && outcome !== 'unscored') fail(`ended as ${outcome}: ${rollout.attempt?.error ?? 'no reason was given'} Try the agent with a dry run first.`);
  if (calls.length === 0) fail('made no LLM call through the trainer. Make the agent call the base URL it is handed (llm.endpoint) instead of a URL of its own.');

  const failed = calls.find((span) => span.status.status_code === 'ERROR');
  if (failed && calls.every((span) => span.status.status_code === 'ERROR')) fail(`made ${counted(calls.length, 'LLM call')} and ${calls.length === 1 ? 'it failed with' : 'all failed, the first with'}: ${failed.status.description ?? failed.attributes[attr.errorType] ?? 'an unnamed error'}.`);
  if (!calls.some((span) => numbersOf(span, attr.responseTokenIds))) fail('got no token ids with its LLM calls, and training needs the ids as sampled. Use a local policy (model.path), or a server that honours return_token_ids.');
  if (!calls.some((span) => numbersOf(span, attr.responseLogprobs))) fail('got no log-probabilities with its LLM calls, and training needs them as sampled. Use a local policy (model.path), or a server that returns logprobs.');

  const everyone = toTransitions({ rollout, spans });
  if (everyone.transitions.length === 0) fail(`made ${counted(calls.length, 'LLM call')} of which none can be trained: ${everyone.losses.map((loss) => `${loss.reason} (${loss.count})`).join(', ')}.`);
  const agents = [...new Set(everyone.transitions.map((transition) => transition.agent))];
  const trainable = toTransitions({ rollout, spans }, { agent_match }).transitions.length;
  if (trainable === 0) fail(`made no LLM call that grpo.agent_match "${agent_match}" selects. The agents seen: ${agents.map((agent) => agent ?? '(calls outside any operation)').join(', ')}. Correct the expression, or wrap the function that calls the model in operation("name", …).`);
  const reward = rollout.attempt?.reward ?? null;
  if (outcome === 'unscored' || reward === null) return fail('brought no reward. Return a number from the agent, or emit one with emitReward / emit_reward.');

  return { calls: calls.length, trainable, agents: agents.filter((agent) => agent !== null), tools: toolNames(calls).size, reward };
}

/** The report as one line for a log. */
export function describeSelfCheck({ calls, trainable, agents, tools, reward }: SelfCheckReport): string {
  const by = agents.length === 0 ? '' : ` by ${agents.join(', ')}`;
  return `Self-check: ${counted(calls, 'LLM call')}${by}, ${trainable} trainable with token ids and log-probabilities${tools === 0 ? '' : `, ${counted(tools, 'tool')} offered`}, reward ${reward}.`;
}

function counted(n: number, what: string): string { return `${n} ${what}${n === 1 ? '' : 's'}`; }

function toolNames(calls: Span[]): Set<string> {
  const definitions = calls.flatMap((span): unknown => {
    const text = span.attributes[attr.toolDefinitions];
    return typeof text === 'string' ? (JSON.parse(text) as unknown) : []; // written by the gateway
  });
  return new Set(definitions.map((definition) => JSON.stringify(definition)));
}
