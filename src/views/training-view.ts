import { stepsOf } from '../../trainer/protocol/config.ts';
import { plural, t } from '../../trainer/protocol/l10n.ts';
import { DevResult, EvalResult, TrainResult } from '../../trainer/protocol/run.ts';
import type { Run, StepMetrics } from '../../trainer/protocol/run.ts';
import type { AttemptedRollout } from '../../trainer/protocol/rollout.ts';
import type { Fact, RunActions, Table, TrainingView } from '../../trainer/protocol/views.ts';
import { isActive } from '../runs/run-book.ts';
import type { RunEntry } from '../runs/run-book.ts';
import { chartsView } from './charts-view.ts';
import { compact, duration, nothing, number, percent, signed } from './format.ts';
import { isResumable, runHeader } from './run-header.ts';
import { fromExamples, stepView } from './step-view.ts';
import type { StepChoice } from './step-view.ts';

export const emptyTrainingView: TrainingView = {
  header: null, actions: { pause: false, resume: false, stop: false, runners: null }, waiting: null, progress: null, facts: [], charts: { steps: [], runs: [], charts: [] }, step: null, table: { columns: [], rows: [] }, notices: [],
};

/** What the panel looks at beside the run itself. */
export interface TrainingChoice extends StepChoice {
  /** Rollouts of the step, once they have been read. */
  rollouts: readonly AttemptedRollout[] | null;
  /** Runs drawn beside it. */
  compared: readonly RunEntry[];
}

const newest: TrainingChoice = { step: null, loss: null, rollouts: null, compared: [] };

/** The training panel of a run: a pure function of what is known of it. `now`: seconds since the epoch. */
export function trainingView(entry: RunEntry, now: number, choice: TrainingChoice = newest): TrainingView {
  const { run, steps, notices, waiting } = entry;
  return {
    header: runHeader(run),
    actions: actionsOf(run),
    waiting: waiting === null ? null : t('Waiting on {0} for {1}.', waiting.on, duration(Math.max(60, now - waiting.since))),
    progress: progressOf(entry),
    facts: factsOf(run, steps, now),
    charts: chartsView(run.kind === 'train' ? [entry, ...choice.compared] : []),
    step: stepView(steps, choice, choice.rollouts),
    table: tableOf(steps),
    notices,
  };
}

function actionsOf(run: Run): RunActions {
  const active = isActive(run);
  const paused = run.pause === 'pausing' || run.pause === 'paused';
  return { pause: active && !paused, resume: active ? paused : isResumable(run), stop: active, runners: active ? run.runners ?? null : null };
}

/** How many steps the run's configuration asks for; null when it is not a training run. */
export function stepsAskedFor(run: Run): number | null {
  return stepsOf(run.config);
}

function progressOf({ run, steps, rollouts }: RunEntry): TrainingView['progress'] {
  if (run.status !== 'running') return null;
  const total = stepsAskedFor(run);
  const parts = rollouts === null ? [] : [t('{0} of {1}', rollouts.ended, plural(rollouts.total, '{0} rollout', '{0} rollouts'))];
  if (run.phase !== 'training' || total === null) {
    return { done: rollouts === null || rollouts.total === 0 ? null : rollouts.ended / rollouts.total, text: parts.join('') };
  }
  const left = steps.at(-1)?.eta_s ?? null;
  const inStep = rollouts === null || rollouts.total === 0 ? 0 : rollouts.ended / rollouts.total;
  const text = [t('Step {0} of {1}', Math.min(steps.length + 1, total), total), ...parts, ...(left === null ? [] : [t('about {0} left', duration(left))])].join(' · ');
  // The update after the rollouts takes its part of a step too: rollouts fill three quarters of it.
  return { done: Math.min(1, (steps.length + 0.75 * inStep) / total), text };
}

function factsOf(run: Run, steps: StepMetrics[], now: number): Fact[] {
  const last = steps.at(-1);
  const facts: Fact[] = [...resultFacts(run)];
  if (last !== undefined && fromExamples(steps)) {
    const since = last.loss === null || steps.length < 2 ? '' : t('{0} since step 1', signed(last.loss - (steps[0]?.loss ?? last.loss), 3));
    facts.push({ label: t('Loss, last step'), value: number(last.loss, 3), note: since });
    facts.push({ label: t('Trained tokens per second'), value: compact(last.trained_tokens / last.train_s), note: plural(last.trained_tokens, '{0} token a step', '{0} tokens a step') });
  } else if (last !== undefined) {
    const first = steps.find((step) => step.reward_mean !== null)?.reward_mean ?? null;
    const change = first === null || last.reward_mean === null || steps.length < 2 ? '' : t('{0} since step 1', signed(last.reward_mean - first, 3));
    facts.push({ label: t('Reward, last step'), value: number(last.reward_mean, 3), note: change });
    facts.push({ label: t('Rollouts per second'), value: compact(last.rollouts_per_s), note: t('{0} tokens/s', compact(last.tokens_per_s)) });
  }
  facts.push({ label: t('Time'), value: duration(Math.max(0, (run.end_time ?? now) - run.create_time)), note: new Date(run.create_time * 1000).toLocaleTimeString() });
  return facts;
}

/** The comparison on held-out tasks, once the run has made it. */
export function resultFacts(run: Run): Fact[] {
  const train = TrainResult.safeParse(run.result);
  if (run.kind === 'train' && train.success) {
    const { before, after, difference } = train.data;
    const proof = difference === null ? t('too few tasks to compare') : t('{0}, 95 % CI {1} to {2}, p = {3}', signed(difference.mean, 3), signed(difference.ci95[0], 3), signed(difference.ci95[1], 3), compact(difference.p_value));
    return [{ label: plural(after.n, 'Held-out reward, {0} task', 'Held-out reward, {0} tasks'), value: `${number(before.mean_reward, 3)} → ${number(after.mean_reward, 3)}`, note: proof }];
  }
  const dev = DevResult.safeParse(run.result);
  if (run.kind === 'dev' && dev.success) {
    return [{ label: t('Mean reward'), value: number(dev.data.mean_reward, 3), note: t('{0} of {1}', plural(dev.data.rollouts.filter((rollout) => rollout.reward !== null).length, '{0} scored rollout', '{0} scored rollouts'), dev.data.rollouts.length) }];
  }
  const evaluation = EvalResult.safeParse(run.result);
  if (run.kind === 'eval' && evaluation.success) {
    return [{ label: t('Mean reward'), value: number(evaluation.data.policy.mean_reward, 3), note: plural(evaluation.data.policy.n, '{0} task', '{0} tasks') }];
  }
  return [];
}

interface Column { title: string; unit: string; help: string; /** of rollouts */ sampled?: boolean; cell: (step: StepMetrics) => string }

const columns = (): Column[] => [
  { title: t('Step'), unit: '', help: t('Training step, one policy update each'), cell: (s) => String(s.step + 1) },
  { title: t('Reward'), unit: t('mean ± sd'), help: t('Over the scored rollouts of the step'), sampled: true, cell: (s) => (s.reward_mean === null ? nothing : `${number(s.reward_mean, 3)} ± ${number(s.reward_std, 2)}`) },
  { title: t('Held-out'), unit: t('reward'), help: t('Validation, at the steps that validate'), cell: (s) => number(s.val_reward, 3) },
  { title: t('Groups'), unit: t('with signal'), help: t('Groups whose rewards differ; the others teach nothing'), sampled: true, cell: (s) => t('{0} of {1}', s.groups - s.groups_without_variance, s.groups) },
  { title: t('Trained'), unit: t('tokens'), help: t('Tokens that carried a loss'), cell: (s) => (s.updated ? s.trained_tokens.toLocaleString('en-US') : t('skipped')) },
  { title: t('Loss'), unit: '', help: t('What the update minimises'), cell: (s) => compact(s.loss) },
  { title: t('Entropy'), unit: t('nats/token'), help: t('Of the policy at trained tokens'), cell: (s) => number(s.entropy, 3) },
  { title: t('KL'), unit: t('nats/token'), help: t('To the reference model'), sampled: true, cell: (s) => compact(s.kl) },
  { title: t('Clipped'), unit: t('% of tokens'), help: t('Tokens whose ratio the loss clipped'), sampled: true, cell: (s) => percent(s.clip_fraction).replace(' %', '') },
  { title: t('Gradient'), unit: t('norm'), help: t('Before clipping'), cell: (s) => compact(s.grad_norm) },
  { title: t('Drift'), unit: t('nats'), help: t('Largest difference between the log-probabilities of sampler and trainer'), sampled: true, cell: (s) => compact(s.logprob_max_diff) },
  { title: t('Response'), unit: t('tokens'), help: t('Mean length of trained calls'), sampled: true, cell: (s) => number(s.response_tokens_mean, 1) },
  { title: t('Staleness'), unit: t('updates'), help: t('Policy updates between the sampling of a call and its use'), sampled: true, cell: (s) => compact(s.staleness) },
  { title: t('Rollouts'), unit: t('s'), help: t('Wall time of the rollouts'), sampled: true, cell: (s) => number(s.rollout_s, 1) },
  { title: t('Update'), unit: t('s'), help: t('Wall time of the update'), cell: (s) => number(s.train_s, 1) },
];

/** Newest step first. */
function tableOf(steps: StepMetrics[]): Table {
  const all = columns().filter(({ sampled }) => !sampled || !fromExamples(steps));
  return { columns: all.map(({ title, unit, help }) => ({ title, unit, help })), rows: [...steps].reverse().map((step) => ({ step: step.step, cells: all.map((column) => column.cell(step)) })) };
}
