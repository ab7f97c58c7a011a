import { plural, t } from '../../trainer/protocol/l10n.ts';
import type { AgentAnnotation, FailedLine } from '../../trainer/protocol/annotations.ts';
import { compact, nothing, number, shortDuration } from '../views/format.ts';

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
  const tokens = input_tokens === null && output_tokens === null ? [] : [t('{0} tokens', compact((input_tokens ?? 0) + (output_tokens ?? 0)))];
  const reward = last.reward === null ? t('last: {0}', outcomeText(last.outcome)) : t('reward {0}', number(last.reward, 2));
  const average = rewards.length === 0 ? [] : [`${t('mean {0}', number(mean(rewards), 2))}${trend(rewards) === '' ? '' : ` ${trend(rewards)}`}`];
  return [reward, ...average, plural(rollouts, '{0} rollout', '{0} rollouts'), ...(p95_s === null ? [] : [`p95 ${shortDuration(p95_s)}`]), ...tokens].join(' · ');
}

function outcomeText(outcome: string): string {
  switch (outcome) {
    case 'unscored': return t('no reward');
    case 'agent_error': return t('error in the agent');
    case 'infra_error': return t('failed outside the agent');
    case 'timeout': return t('timed out');
    case 'context_overflow': return t('context too long');
    default: return outcome;
  }
}

/** What the line above an agent means, in full. */
export function agentTooltip({ rewards, without_reward, input_tokens, output_tokens }: AgentAnnotation): string {
  const counted = rewards.length + without_reward;
  return [
    plural(counted, 'Mean, 95th percentile and tokens are of the latest {0} rollout.', 'Mean, 95th percentile and tokens are of the latest {0} rollouts.'),
    rewards.length === 0 ? t('None of them has a reward.') : t('{0} of them have a reward, from {1} to {2}.', rewards.length, compact(Math.min(...rewards)), compact(Math.max(...rewards))),
    t('Tokens per rollout: {0} in, {1} out.', compact(input_tokens), compact(output_tokens)),
    t('Select to see the latest one.'),
  ].join('\n');
}

/** What is written behind a line that yields rewards. */
export function rewardText(rewards: readonly number[]): string {
  const latest = rewards.slice(-shownValues).map((value) => compact(value)).join(', ');
  const spark = sparkline(rewards);
  return `${spark === '' ? '' : `${spark} `}${t('mean {0} · last {1}', number(mean(rewards), 2), latest)}`;
}

export function rewardHover(rewards: readonly number[]): string {
  if (rewards.length === 0) return nothing;
  return t('{0}, from {1} (left) to {2} (right); mean {3}. Latest last: {4}.', plural(rewards.length, '{0} reward', '{0} rewards'), compact(Math.min(...rewards)), compact(Math.max(...rewards)), number(mean(rewards), 3), rewards.slice(-10).map((value) => compact(value)).join(', '));
}

export function failedHover({ calls, failed, message }: Pick<FailedLine, 'calls' | 'failed' | 'message'>): string {
  return t('{0} of {1} made here failed in the latest run. The last failure: {2}', failed, plural(calls, '{0} LLM call', '{0} LLM calls'), message);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
