import { toTrajectories } from '../adapter/trajectories.ts';
import type { Transition } from '../adapter/transitions.ts';
import type { ExampleTokens } from '../policy/example-tokens.ts';
import type { Example } from '../protocol/examples.ts';
import type { ScoredRow } from '../protocol/policy.ts';

/** Rows of a conversation: its answers in one row where each prompt continues the tokens before it; null when one exceeds the model's context. */
export function exampleRows(tokens: Pick<ExampleTokens, 'answers' | 'contextLength'>, example: Example): ScoredRow[] | null {
  const calls = tokens.answers(example).map(({ prompt, response }, call_index): Transition => ({
    rollout_id: '', span_id: '', agent: null, call_index, prompt, response, logprobs: response.map(() => 0), temperature: 1, policy_version: null,
  }));
  const rows = toTrajectories(calls, 'trajectory').map(({ tokens: ids, mask, temperature }) => ({ tokens: ids, mask, temperature }));
  return rows.some((row) => row.tokens.length > tokens.contextLength) ? null : rows;
}
