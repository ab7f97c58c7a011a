import pc from 'picocolors';
import { stepsOf } from '../protocol/config.ts';
import type { Run, StepMetrics } from '../protocol/run.ts';
import type { TrainerEvent } from '../protocol/rpc.ts';
import type { Store } from '../store/store.ts';
import type { Candidate } from '../protocol/optimize.ts';
import { decimal, duration, oneLine, sparkline } from './format.ts';

interface Output { write(text: string): unknown; isTTY?: boolean; columns?: number }

const phaseNames: Record<Run['phase'], string> = {
  starting: 'Starting',
  'self-check': 'Checking that calls, token ids and reward arrive',
  'evaluating-before': 'Evaluating before training',
  training: 'Training',
  'evaluating-after': 'Evaluating after training',
  rollouts: 'Running',
  searching: 'Searching for better prompts',
  reporting: 'Measuring held-out tasks',
  done: 'Done',
};

const terminal = new Set(['succeeded', 'failed', 'cancelled']);

/**
 * Shows a run's events: a line rewritten in place on a terminal, plain lines elsewhere.
 * Returns a function that ends the display.
 */
export function showProgress(store: Store, runId: string, output: Output): () => void {
  const colors = pc.createColors(output.isTTY === true && pc.isColorSupported);
  const rewards: number[] = [];
  let phase: Run['phase'] | undefined;
  let finished = 0;
  let total: number | null = null;

  const clear = () => { if (output.isTTY) output.write('\r\u001b[2K'); };
  const line = (text: string) => { clear(); output.write(`${text}\n`); };
  const status = (text: string) => { if (output.isTTY) { clear(); output.write(text.slice(0, (output.columns ?? 120) - 1)); } };

  const onPhase = (next: Run) => {
    if (next.phase === phase) return;
    total = stepsOf(next.config);
    phase = next.phase;
    finished = 0;
    if (phase !== 'done') line(colors.bold(phase === 'starting' ? `${phaseNames.starting} run ${runId}` : phaseNames[phase]));
  };
  const onStep = (metrics: StepMetrics) => {
    if (metrics.reward_mean !== null) rewards.push(metrics.reward_mean);
    line(stepLine(metrics, total) + (output.isTTY ? ` ${colors.green(sparkline(rewards))}` : ''));
  };
  const told = new Set<string>(); // a candidate changes with every rollout; only its fate is worth a line
  const onCandidate = (candidate: Candidate, best: string) => {
    const key = `${candidate.candidate_id} ${candidate.status}`;
    if (candidate.status === 'proposed' || told.has(key) || (candidate.status === 'kept' && candidate.validation === null)) return;
    told.add(key);
    line(candidateLine(candidate) + (best === candidate.candidate_id ? colors.green('  best so far') : ''));
  };
  const unsubscribe = store.onEvent((event: TrainerEvent) => {
    if (event.type === 'run' && event.run.run_id === runId) onPhase(event.run);
    else if (event.type === 'step' && event.run_id === runId) { finished = 0; onStep(event.metrics); }
    else if (event.type === 'candidate' && event.run_id === runId) onCandidate(event.candidate, event.best);
    else if (event.type === 'notice' && event.run_id === runId) line(event.level === 'warning' ? colors.yellow(`warning: ${event.message}`) : colors.dim(event.message));
    else if (event.type === 'rollout' && event.run_id === runId && terminal.has(event.rollout.status)) {
      finished += 1;
      status(colors.dim(`  ${finished} rollouts`));
    }
  });
  const run = store.getRun(runId);
  if (run) onPhase(run);
  return () => { clear(); unsubscribe(); };
}

/** One step in words: `step 12/30  reward 0.612  41.3 rollouts/s  1m 12s left`. */
export function stepLine(metrics: StepMetrics, total: number | null): string {
  const parts = [
    `step ${metrics.step + 1}${total === null ? '' : `/${total}`}`,
    metrics.reward_mean === null && metrics.loss !== null ? `loss ${decimal(metrics.loss)}` : `reward ${decimal(metrics.reward_mean)}`,
    ...(metrics.val_reward === null ? [] : [`validation ${decimal(metrics.val_reward)}`]),
    ...(metrics.funnel.rollouts === 0 ? [] : [`${metrics.rollouts_per_s.toFixed(1)} rollouts/s`]),
    ...(metrics.updated ? [] : ['no update: nothing to learn from']),
    ...(metrics.eta_s === null ? [] : [`${duration(metrics.eta_s)} left`]),
  ];
  return `  ${parts.join('  ')}`;
}

/** A candidate in words: `c3 from c1  kept  validation 0.700 over 20  spent 74 rollouts`. */
export function candidateLine({ candidate_id, parents, status, minibatch, validation, rejection, spent }: Candidate): string {
  const why = status === 'rejected' && rejection ? `: ${oneLine(rejection.message)}` : '';
  const parts = [
    `${candidate_id}${parents.length === 0 ? '' : ` from ${parents.join(' and ')}`}`,
    `${status}${why}`,
    ...(minibatch && status === 'dropped' ? [`${decimal(minibatch.parent)} → ${decimal(minibatch.child)} on its batch`] : []),
    ...(validation ? [`validation ${decimal(validation.mean_reward)} over ${validation.n}`] : []),
    `${spent.rollouts} rollouts spent`,
  ];
  return `  ${parts.join('  ')}`;
}
