import { OptimizeResult } from '../protocol/optimize.ts';
import { DevResult, EvalResult, TrainResult, type Difference, type Run, type Score } from '../protocol/run.ts';
import { decimal, duration, pValue, signed, table } from './format.ts';

/** What a finished run found, for a person. */
export function resultText(run: Run): string {
  switch (run.kind) {
    case 'dev': return devText(DevResult.parse(run.result));
    case 'train': return trainText(TrainResult.parse(run.result));
    case 'eval': return evalText(EvalResult.parse(run.result));
    case 'optimize': return optimizeText(OptimizeResult.parse(run.result));
  }
}

function devText(result: DevResult): string {
  const rows = result.rollouts.map((rollout) => [rollout.rollout_id, rollout.status, decimal(rollout.reward), String(rollout.spans), rollout.error ?? '']);
  return [
    table([['rollout', 'status', 'reward', 'spans', ''], ...rows]),
    '',
    `mean reward ${decimal(result.mean_reward)} · run ${result.run_id}`,
    `See what happened with: agent-trainer trace ${result.run_id}, or the id of a rollout`,
  ].join('\n');
}

function trainText(result: TrainResult): string {
  return [
    scoresTable('held-out tasks', [['before', result.before], ['after', result.after]]),
    result.difference === null ? 'difference: fewer than two tasks were scored on both sides, so none can be given' : differenceLine(result.difference),
    '',
    `${result.steps} steps in ${duration(result.wall_s)} · run ${result.run_id}`,
    `Trained model: ${result.checkpoint}${isLast(result) ? '' : ` (of step ${result.checkpoint_step! + 1}, which validated best)`}`,
  ].join('\n');
}

function isLast({ checkpoint_step, steps }: TrainResult): boolean { return (checkpoint_step ?? steps - 1) === steps - 1; }

function evalText(result: EvalResult): string {
  const columns: [string, Score][] = [['policy', result.policy], ...(result.against ? [['against', result.against] as [string, Score]] : [])];
  return [scoresTable('tasks', columns), ...(result.difference ? [differenceLine(result.difference)] : []), '', `run ${result.run_id}`].join('\n');
}

function optimizeText(result: OptimizeResult): string {
  const { baseline, best, difference, cost } = result;
  const scores: [string, Score][] = [['baseline', { mean_reward: baseline.score, n: baseline.n }], ...(best.candidate_id === 'c0' ? [] : [[best.candidate_id, { mean_reward: best.score, n: best.n }] as [string, Score]])];
  return [
    scoresTable('held-out tasks', scores),
    ...(difference ? [differenceLine(difference)] : []),
    ...(result.improved ? [] : [noImprovement(result)]),
    '',
    `${endings[result.stopped]}${result.candidates} ${result.candidates === 1 ? 'candidate' : 'candidates'}, ${cost.rollouts} rollouts (${cost.cached_rollouts} more from the cache), ${cost.optimizer_calls} calls of the optimiser, ${cost.input_tokens + cost.output_tokens} tokens${cost.usd === null ? '' : `, $${cost.usd.toFixed(4)}`} in ${duration(cost.seconds)} · run ${result.run_id}`,
  ].join('\n');
}

const endings: Record<OptimizeResult['stopped'], string> = { finished: '', budget: 'The budget was used up: ', stopped: 'Ended early: ' };

/** Why the prompts stay as they are, said no stronger than what was measured. */
function noImprovement({ baseline, best, difference, candidates, stopped }: OptimizeResult): string {
  if (baseline.score === null) return 'Nothing can be said: no held-out task got a score.';
  if (candidates === 1) return stopped === 'finished' ? 'Only measured: no new prompt was tried.' : 'No new prompt was tried before the search ended: give it a larger budget.';
  if (best.candidate_id !== 'c0' && difference === null) return 'No improvement shown: fewer than two held-out tasks were scored on both sides. Give more tasks.';
  return 'No improvement found: the prompts stay as they are.';
}

function scoresTable(title: string, columns: [string, Score][]): string {
  return table([
    [title, ...columns.map(([name]) => name)],
    ['mean reward', ...columns.map(([, score]) => decimal(score.mean_reward))],
    ['tasks scored', ...columns.map(([, score]) => String(score.n))],
  ]);
}

function differenceLine({ mean, ci95: [low, high], p_value }: Difference): string {
  const verdict = p_value >= 0.05 ? 'no difference shown' : low > 0 ? 'better' : high < 0 ? 'worse' : 'no difference shown';
  return `difference ${signed(mean)}, 95 % interval ${signed(low)} to ${signed(high)}, ${pValue(p_value)}: ${verdict}`;
}
