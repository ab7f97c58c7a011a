import { annotationWindow } from '../protocol/annotations.ts';
import type { AgentAnnotation, Annotations, FailedLine, RewardLine } from '../protocol/annotations.ts';
import type { RecentAttempt } from '../store/annotations.ts';
import type { Store } from '../store/store.ts';
import { factsOf, type Place, type RolloutFacts } from './rollout-facts.ts';

/** Reads annotations from the store. Spans of an ended attempt are read once; asking again costs one light query. */
export class AnnotationReader {
  readonly #store: Store;
  #facts = new Map<string, RolloutFacts>();

  constructor(store: Store) {
    this.#store = store;
  }

  read(): Annotations {
    const attempts = this.#store.recentAttempts(annotationWindow);
    const facts = new Map<string, RolloutFacts>(); // those that left the window are forgotten
    for (const { rollout_id, attempt_id } of attempts) {
      facts.set(attempt_id, this.#facts.get(attempt_id) ?? factsOf(this.#store.listSpans(rollout_id, attempt_id)));
    }
    this.#facts = facts;
    const agents = grouped(attempts);
    const each = [...agents.values()].map((recent) => ({ recent, facts: recent.map(({ attempt_id }) => facts.get(attempt_id)!) }));
    return {
      agents: each.map(({ recent, facts }) => agentAnnotation(recent, facts)),
      reward_lines: each.flatMap(({ recent, facts }) => rewardLines(recent, facts)),
      failed_lines: each.flatMap(({ recent, facts }) => failedLines(recent, facts)),
    };
  }
}

function grouped(attempts: RecentAttempt[]): Map<string, RecentAttempt[]> {
  const groups = new Map<string, RecentAttempt[]>();
  for (const attempt of attempts) {
    const group = groups.get(attempt.agent);
    if (group) group.push(attempt);
    else groups.set(attempt.agent, [attempt]);
  }
  return groups;
}

/** `recent`: attempts of one agent, newest first, at least one; `facts` beside them. */
function agentAnnotation(recent: RecentAttempt[], facts: RolloutFacts[]): AgentAnnotation {
  const { agent, total, rollout_id, run_id, outcome, reward, end_time } = recent[0]!;
  const rewards = recent.flatMap((attempt) => attempt.reward ?? []).reverse();
  return {
    agent, rollouts: total,
    last: { rollout_id, run_id, outcome, reward, end_time },
    rewards,
    without_reward: recent.length - rewards.length,
    p95_s: percentile(recent.map((attempt) => attempt.end_time - attempt.start_time), 0.95),
    input_tokens: mean(facts.flatMap((each) => each.input_tokens ?? [])),
    output_tokens: mean(facts.flatMap((each) => each.output_tokens ?? [])),
  };
}

function rewardLines(recent: RecentAttempt[], facts: RolloutFacts[]): RewardLine[] {
  const lines = new Map<string, RewardLine>();
  for (const each of [...facts].reverse()) {
    for (const { place, value } of each.rewards) {
      const line = lines.get(keyOf(place)) ?? { ...place, agent: recent[0]!.agent, rewards: [] };
      line.rewards.push(value);
      lines.set(keyOf(place), line);
    }
  }
  return [...lines.values()];
}

/** Of the latest run alone: a run in which a line succeeds takes its mark away. */
function failedLines(recent: RecentAttempt[], facts: RolloutFacts[]): FailedLine[] {
  const lines = new Map<string, FailedLine>();
  const { agent, run_id } = recent[0]!;
  for (const [index, attempt] of recent.entries()) {
    if (attempt.run_id !== run_id) continue;
    for (const { place, error } of facts[index]!.calls) {
      const line = lines.get(keyOf(place)) ?? { ...place, agent, calls: 0, failed: 0, message: '', run_id, rollout_id: '' };
      line.calls += 1;
      if (error !== null) {
        if (line.failed === 0) Object.assign(line, { message: error, rollout_id: attempt.rollout_id });
        line.failed += 1;
      }
      lines.set(keyOf(place), line);
    }
  }
  return [...lines.values()].filter((line) => line.failed > 0);
}

function keyOf({ file, line }: Place): string {
  return `${file}:${line}`;
}

/** Nearest rank. */
function percentile(values: number[], share: number): number | null {
  if (values.length === 0) return null;
  return [...values].sort((a, b) => a - b)[Math.ceil(share * values.length) - 1]!;
}

function mean(values: number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}
