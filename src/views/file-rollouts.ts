import { t } from '../../trainer/protocol/l10n.ts';
import { RolloutConfig } from '../../trainer/protocol/rollout.ts';
import type { AttemptedRollout } from '../../trainer/protocol/rollout.ts';
import { attr } from '../../trainer/protocol/span.ts';
import type { Span } from '../../trainer/protocol/span.ts';
import { plainJson } from './span-detail.ts';
import { text } from './span-attributes.ts';

/** The traces of a file as rollouts that have ended, each with its spans. What a file does not say (a reward) is missing, not zero. */
export function fileRollouts(spans: readonly Span[]): { rollout: AttemptedRollout; spans: Span[] }[] {
  const traces = new Map<string, Span[]>();
  for (const span of spans) {
    const known = traces.get(span.rollout_id);
    if (known === undefined) traces.set(span.rollout_id, [span]);
    else known.push(span);
  }
  return [...traces.values()].map((of) => ({ rollout: rolloutOf(of), spans: of }));
}

function rolloutOf(spans: Span[]): AttemptedRollout {
  const first = spans[0]!;
  const ids = new Set(spans.map((span) => span.span_id));
  const root = spans.find((span) => span.parent_id === null || !ids.has(span.parent_id)) ?? first;
  const reward = spans.findLast((span) => typeof span.attributes[attr.rewardValue] === 'number')?.attributes[attr.rewardValue] as number | undefined;
  const failed = root.status.status_code === 'ERROR';
  const { rollout_id, attempt_id } = first;
  let [start_time, end_time] = [Infinity, 0];
  for (const span of spans) {
    start_time = Math.min(start_time, span.start_time);
    end_time = Math.max(end_time, span.end_time ?? span.start_time);
  }
  const status = failed ? 'failed' : 'succeeded';
  return {
    rollout_id, run_id: null, input: inputOf(root), task_id: null, step: null, mode: null, resources_id: null, status, start_time, end_time, config: RolloutConfig.parse({}), metadata: null,
    attempt: {
      rollout_id, attempt_id, sequence_id: 1, start_time, end_time, status, worker_id: null, last_heartbeat_time: null, metadata: null,
      outcome: failed ? 'agent_error' : reward === undefined ? 'unscored' : 'scored', reward: failed ? null : reward ?? null, error: failed ? root.status.description ?? t('The trace ended with an error.') : null,
    },
  };
}

function inputOf(root: Span): unknown {
  const input = text(root, attr.operationInput);
  if (input === null) return root.name;
  try {
    return JSON.parse(input);
  } catch {
    return plainJson(input);
  }
}
