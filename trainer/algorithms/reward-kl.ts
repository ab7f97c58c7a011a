import { toTrajectories } from '../adapter/trajectories.ts';
import { toTransitions } from '../adapter/transitions.ts';
import type { GrpoConfig } from '../protocol/grpo-config.ts';
import type { Policy } from '../protocol/policy.ts';
import type { TokenKl } from './estimate.ts';
import type { TracedRollout } from './training-batch.ts';

/** How far the sampler was from the reference at each token it drew. */
export async function referenceKl(policy: Pick<Policy, 'logprobs'>, traced: readonly TracedRollout[], { agent_match, trace_aggregation }: Pick<GrpoConfig, 'agent_match' | 'trace_aggregation'>): Promise<TokenKl> {
  const rows = toTrajectories(traced.flatMap((each) => toTransitions(each, { agent_match }).transitions), trace_aggregation);
  const reference = await policy.logprobs(rows, 'reference');
  return new Map(rows.flatMap((row, i) => row.calls.map(({ span_id, start, length }) => (
    [span_id, row.logprobs.slice(start, start + length).map((logprob, n) => logprob - reference[i]![start + n]!)] as const
  ))));
}

/** Mean over the tokens, nats; null without any. */
export function meanKl(tokens: TokenKl): number | null {
  const values = [...tokens.values()].flat();
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}
