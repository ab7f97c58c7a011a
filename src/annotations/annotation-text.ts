import type { AgentAnnotation, FailedLine } from '../../trainer/protocol/annotations.ts';
import { compact, nothing, number, plural, shortDuration } from '../views/format.ts';

const blocks = '▁▂▃▄▅▆▇█';
const bins = 8;
const shownValues = 3;
/** Rewards needed for a trend, and the change of the mean that is one, as a share of the spread of all rewards. */
const leastForTrend = 8;
const visibleChange = 0.05;

/** The distribution of some values from the lowest to the highest, one block for each eighth of the range; '' without a range. */
export function sparkline(values: readonly number[]): string {
  const low = Math.min(...values);
  const high = Math.max(...values);
  if (values.length < 2 || low === high) return '';
  const counts = Array.from({ length: bins }, () => 0);
  for (const value of values) counts[Math.min(bins - 1, Math.floor(((value - low) / (high - low)) * bins))]! += 1;
  const most = Math.max(...counts);
  return counts.map((count) => (count === 0 ? '▁' : blocks[Math.max(1, Math.ceil((count / most) * blocks.length) - 1)])).join('');
}

/** Whether the newer half of the rewards is better than the older one: an arrow, or '' when there are too few to say. */
export function trend(rewards: readonly number[]): '' | '↗' | '→' | '↘' {
  if (rewards.length < leastForTrend) return '';
  const middle = Math.floor(rewards.length / 2);
  const spread = Math.max(...rewards) - Math.min(...rewards);
  const change = mean(rewards.slice(middle)) - mean(rewards.slice(0, middle));
  if (spread === 0 || Math.abs(change) < spread * visibleChange) return '→';
  return change > 0 ? '↗' : '↘';
}

/** The line above an agent. */
export function agentText({ last, rewards, rollouts, p95_s, input_tokens, output_tokens }: AgentAnnotation): string {
  const tokens = input_tokens === null && output_tokens === null ? [] : [`${compact((input_tokens ?? 0) + (output_tokens ?? 0))} tokens`];
  const reward = last.reward === null ? `last: ${outcomeText[last.outcome] ?? last.outcome}` : `reward ${number(last.reward, 2)}`;
  const average = rewards.length === 0 ? [] : [`mean ${number(mean(rewards), 2)}${trend(rewards) === '' ? '' : ` ${trend(rewards)}`}`];
  return [reward, ...average, plural(rollouts, 'rollout'), ...(p95_s === null ? [] : [`p95 ${shortDuration(p95_s)}`]), ...tokens].join(' · ');
}

const outcomeText: Record<string, string> = {
  unscored: 'no reward', agent_error: 'error in the agent', infra_error: 'failed outside the agent', timeout: 'timed out', context_overflow: 'context too long',
};

/** What the line above an agent means, in full. */
export function agentTooltip({ rewards, without_reward, input_tokens, output_tokens }: AgentAnnotation): string {
  const counted = rewards.length + without_reward;
  return [
    `Mean, 95th percentile and tokens are of the latest ${plural(counted, 'rollout')}.`,
    rewards.length === 0 ? 'None of them has a reward.' : `${rewards.length} of them have a reward, from ${compact(Math.min(...rewards))} to ${compact(Math.max(...rewards))}.`,
    `Tokens per rollout: ${compact(input_tokens)} in, ${compact(output_tokens)} out.`,
    'Select to see the latest one.',
  ].join('\n');
}

/** What is written behind a line that yields rewards. */
export function rewardText(rewards: readonly number[]): string {
  const latest = rewards.slice(-shownValues).map((value) => compact(value)).join(', ');
  const spark = sparkline(rewards);
  return `${spark === '' ? '' : `${spark} `}mean ${number(mean(rewards), 2)} · last ${latest}`;
}

export function rewardHover(rewards: readonly number[]): string {
  if (rewards.length === 0) return nothing;
  return `${plural(rewards.length, 'reward')}, from ${compact(Math.min(...rewards))} (left) to ${compact(Math.max(...rewards))} (right); mean ${number(mean(rewards), 3)}. Latest last: ${rewards.slice(-10).map((value) => compact(value)).join(', ')}.`;
}

export function failedHover({ calls, failed, message }: Pick<FailedLine, 'calls' | 'failed' | 'message'>): string {
  return `${failed} of ${plural(calls, 'LLM call')} made here failed in the latest run. The last failure: ${message}`;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
