import { messageOf, TrainerError } from '../protocol/errors.ts';
import type { Rollout } from '../protocol/rollout.ts';
import { attr, isLlmCall, numbersOf, type Span } from '../protocol/span.ts';
import { agentFinder } from './agent-of.ts';

/** One LLM call as training data. Arrays of ids hold exactly what the sampler saw and drew. */
export interface Transition {
  rollout_id: string;
  span_id: string;
  /** Ordinal of the call in its attempt, from 0. */
  call_index: number;
  agent: string | null;
  prompt: number[];
  response: number[];
  /** Of each response token under the distribution it was drawn from (after temperature), nats; as long as `response`. */
  logprobs: number[];
  temperature: number;
  /** What the response had to be (JSON of an output format), where tokens that do not fit could not be drawn. */
  format?: string;
  policy_version: number | null;
}

export interface Loss {
  /** The stage of the sample funnel that the calls did not reach. */
  stage: 'with_token_ids' | 'trainable';
  reason: string;
  count: number;
}

export interface AdaptedRollout {
  transitions: Transition[];
  losses: Loss[];
  /** LLM calls of the attempt. */
  calls: number;
  with_token_ids: number;
}

type Verdict = { transition: Transition } | Omit<Loss, 'count'>;

/**
 * The LLM calls of one attempt as transitions, in call order; every call that cannot train is a counted loss.
 * `agent_match`: a regular expression searched in the name of the agent that made the call.
 * Throws TrainerError 'bad_input' when it is none.
 */
export function toTransitions({ rollout, spans }: { rollout: Pick<Rollout, 'rollout_id'>; spans: readonly Span[] }, { agent_match }: { agent_match?: string } = {}): AdaptedRollout {
  const matches = agentMatcher(agent_match);
  const agentOf = agentFinder(spans);
  const calls = spans.filter(isLlmCall);
  const transitions: Transition[] = [];
  const losses = new Map<string, Loss>();
  let with_token_ids = calls.length;

  calls.forEach((span, ordinal) => {
    const verdict = judge(span, { rollout_id: rollout.rollout_id, ordinal, agent: agentOf(span), matches });
    if ('transition' in verdict) {
      transitions.push(verdict.transition);
      return;
    }
    if (verdict.stage === 'with_token_ids') with_token_ids -= 1;
    const key = `${verdict.stage} ${verdict.reason}`;
    const loss = losses.get(key);
    if (loss) loss.count += 1;
    else losses.set(key, { ...verdict, count: 1 });
  });
  transitions.sort((a, b) => a.call_index - b.call_index);
  return { transitions, losses: [...losses.values()], calls: calls.length, with_token_ids };
}

interface Circumstances { rollout_id: string; ordinal: number; agent: string | null; matches: (agent: string | null) => boolean }

function judge(span: Span, { rollout_id, ordinal, agent, matches }: Circumstances): Verdict {
  const prompt = numbersOf(span, attr.promptTokenIds);
  const response = numbersOf(span, attr.responseTokenIds);
  const hasIds = prompt !== undefined && response !== undefined && prompt.length > 0;
  const lost = (reason: string): Verdict => ({ stage: hasIds ? 'trainable' : 'with_token_ids', reason });

  if (span.status.status_code === 'ERROR') return lost('failed call');
  if (span.attributes[attr.incomplete] === true) return lost('incomplete stream');
  if (!hasIds) return lost('no token ids');
  if (!prompt.every(isTokenId) || !response.every(isTokenId)) return lost('malformed token ids');
  if (response.length === 0) return lost('empty response');
  // Drawn among the tokens that another server found to fit a format, which the trainer does not know.
  const format = span.attributes[attr.outputFormat];
  if (span.attributes[attr.constrained] === true && typeof format !== 'string') return lost('constrained decoding');
  const logprobs = numbersOf(span, attr.responseLogprobs);
  if (!logprobs) return lost('no log-probabilities');
  if (logprobs.length !== response.length) return lost('log-probabilities do not fit the tokens');

  // Log-probabilities of a cut distribution are renormalised over the kept tokens, which the trainer does not know.
  const { [attr.requestTopP]: topP, [attr.requestTopK]: topK, [attr.requestTemperature]: temperature } = span.attributes;
  if ((typeof topP === 'number' && topP < 1) || (typeof topK === 'number' && topK > 0)) return lost('truncated sampling distribution');
  if (typeof temperature !== 'number') return lost('unknown temperature');
  if (temperature <= 0) return lost('greedy decoding');
  if (!matches(agent)) return lost('agent_match');

  const index = span.attributes[attr.callIndex];
  const version = span.attributes[attr.policyVersion];
  return { transition: {
    rollout_id, span_id: span.span_id, call_index: typeof index === 'number' ? index : ordinal, agent, prompt, response, logprobs, temperature,
    ...(typeof format === 'string' ? { format } : {}),
    policy_version: typeof version === 'number' ? version : null,
  } };
}

function isTokenId(value: number): boolean {
  return Number.isInteger(value) && value >= 0;
}

function agentMatcher(pattern: string | undefined): (agent: string | null) => boolean {
  if (pattern === undefined) return () => true;
  try {
    const expression = new RegExp(pattern);
    return (agent) => agent !== null && expression.test(agent);
  } catch (error) {
    throw new TrainerError('bad_input', `agent_match is not a regular expression: ${messageOf(error)}.`, { cause: error });
  }
}
