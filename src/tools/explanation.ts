import type { TraceCredit } from '../../trainer/protocol/credit.ts';
import type { AttemptedRollout } from '../../trainer/protocol/rollout.ts';
import { attr } from '../../trainer/protocol/span.ts';
import type { Span } from '../../trainer/protocol/span.ts';
import { expectedOf } from '../../trainer/protocol/tasks.ts';
import { answerOf } from '../views/answer.ts';
import { clip } from '../views/format.ts';
import { kindOf, numeric, text } from '../views/span-attributes.ts';
import { titleOf } from '../views/span-row.ts';

const longest = 1000;

/** What happened in a rollout, for a language model: outcome, rewards with the calls they credit, calls, failures. Calls count from 0. */
export function explanationOf({ rollout_id, run_id, input, attempt }: AttemptedRollout, spans: readonly Span[], credit: TraceCredit): object {
  const byId = new Map(spans.map((span) => [span.span_id, span]));
  const indexOf = new Map(credit.calls.map(({ span_id, call_index }) => [span_id, call_index]));
  const failed = spans.filter((span) => span.status.status_code === 'ERROR');
  return {
    rollout_id, run_id,
    task: short(input), expected: short(expectedOf(input)), answer: short(answerOf(spans)),
    outcome: attempt?.outcome ?? null, reward: attempt?.reward ?? null, error: attempt?.error ?? null,
    rewards: credit.rewards.map(({ span_id, name, value, calls, linked }) => ({ name, value, reason: reasonOf(byId.get(span_id)), credits_calls: calls.map((call) => indexOf.get(call)), linked_by: linked })),
    credit_rule: credit.settings.rule,
    calls: credit.calls.map(({ span_id, call_index, credit: credited, advantage }) => ({ call: call_index, ...callOf(byId.get(span_id), byId), credit: credited, advantage })),
    no_advantage_because: credit.reason,
    failed: failed.map((span) => ({ what: titleOf(span, kindOf(span)), error: short(span.status.description ?? text(span, attr.errorType)) })),
  };
}

function callOf(span: Span | undefined, byId: ReadonlyMap<string, Span>): object {
  if (span === undefined) return {};
  const parent = span.parent_id === null ? undefined : byId.get(span.parent_id);
  return {
    operation: parent === undefined ? null : titleOf(parent, kindOf(parent)), model: titleOf(span, 'llm'), said: short(answerOf([span])),
    input_tokens: numeric(span, attr.inputTokens), output_tokens: numeric(span, attr.outputTokens),
  };
}

function reasonOf(span: Span | undefined): string | null {
  return span === undefined ? null : text(span, attr.rewardReason);
}

/** null: there is none. */
function short(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  return clip(typeof value === 'string' ? value : JSON.stringify(value), longest);
}
