import { z } from 'zod';
import { DevResult, EvalResult, funnelStages, TrainResult } from '../../trainer/protocol/run.ts';
import type { Funnel, Run, StepMetrics } from '../../trainer/protocol/run.ts';
import type { Fact, FunnelRow, Table, TrainingView } from '../../trainer/protocol/views.ts';
import type { RunEntry } from '../runs/run-book.ts';
import { compact, duration, nothing, number, percent, plural, signed } from './format.ts';
import { runHeader } from './run-header.ts';

export const emptyTrainingView: TrainingView = {
  header: null, progress: null, facts: [], curve: { step: [], reward: [], validation: [] }, funnel: null, table: { columns: [], rows: [] }, notices: [],
};

/** The training panel of a run: a pure function of what is known of it. `now`: seconds since the epoch. */
export function trainingView(entry: RunEntry, now: number): TrainingView {
  const { run, steps, notices } = entry;
  return {
    header: runHeader(run),
    progress: progressOf(entry),
    facts: factsOf(run, steps, now),
    curve: curveOf(run, steps),
    funnel: funnelOf(steps.at(-1)),
    table: tableOf(steps),
    notices,
  };
}

/** How many steps the run's configuration asks for; null when it is not a training run. */
export function stepsAskedFor(run: Run): number | null {
  const config = z.looseObject({ grpo: z.looseObject({ steps: z.number() }) }).safeParse(run.config);
  return config.success ? config.data.grpo.steps : null;
}

function progressOf({ run, steps, rollouts }: RunEntry): TrainingView['progress'] {
  if (run.status !== 'running') return null;
  const total = stepsAskedFor(run);
  const parts = rollouts === null ? [] : [`${rollouts.ended} of ${plural(rollouts.total, 'rollout')}`];
  if (run.phase !== 'training' || total === null) {
    return { done: rollouts === null || rollouts.total === 0 ? null : rollouts.ended / rollouts.total, text: parts.join('') };
  }
  const left = steps.at(-1)?.eta_s ?? null;
  const inStep = rollouts === null || rollouts.total === 0 ? 0 : rollouts.ended / rollouts.total;
  const text = [`Step ${Math.min(steps.length + 1, total)} of ${total}`, ...parts, ...(left === null ? [] : [`about ${duration(left)} left`])].join(' · ');
  // The update after the rollouts takes its part of a step too: rollouts fill three quarters of it.
  return { done: Math.min(1, (steps.length + 0.75 * inStep) / total), text };
}

function factsOf(run: Run, steps: StepMetrics[], now: number): Fact[] {
  const last = steps.at(-1);
  const facts: Fact[] = [...resultFacts(run)];
  if (last !== undefined) {
    const first = steps.find((step) => step.reward_mean !== null)?.reward_mean ?? null;
    const change = first === null || last.reward_mean === null || steps.length < 2 ? '' : `${signed(last.reward_mean - first, 3)} since step 1`;
    facts.push({ label: 'Reward, last step', value: number(last.reward_mean, 3), note: change });
    facts.push({ label: 'Rollouts per second', value: compact(last.rollouts_per_s), note: `${compact(last.tokens_per_s)} tokens/s` });
  }
  facts.push({ label: 'Time', value: duration(Math.max(0, (run.end_time ?? now) - run.create_time)), note: new Date(run.create_time * 1000).toLocaleTimeString() });
  return facts;
}

/** The comparison on held-out tasks, once the run has made it. */
function resultFacts(run: Run): Fact[] {
  const train = TrainResult.safeParse(run.result);
  if (run.kind === 'train' && train.success) {
    const { before, after, difference } = train.data;
    const proof = difference === null ? 'too few tasks to compare' : `${signed(difference.mean, 3)}, 95 % CI ${signed(difference.ci95[0], 3)} to ${signed(difference.ci95[1], 3)}, p = ${compact(difference.p_value)}`;
    return [{ label: `Held-out reward, ${plural(after.n, 'task')}`, value: `${number(before.mean_reward, 3)} → ${number(after.mean_reward, 3)}`, note: proof }];
  }
  const dev = DevResult.safeParse(run.result);
  if (run.kind === 'dev' && dev.success) {
    return [{ label: 'Mean reward', value: number(dev.data.mean_reward, 3), note: `${plural(dev.data.rollouts.filter((rollout) => rollout.reward !== null).length, 'scored rollout')} of ${dev.data.rollouts.length}` }];
  }
  const evaluation = EvalResult.safeParse(run.result);
  if (run.kind === 'eval' && evaluation.success) {
    return [{ label: 'Mean reward', value: number(evaluation.data.policy.mean_reward, 3), note: plural(evaluation.data.policy.n, 'task') }];
  }
  return [];
}

function curveOf(run: Run, steps: StepMetrics[]): TrainingView['curve'] {
  const curve = { step: steps.map((step) => step.step + 1), reward: steps.map((step) => step.reward_mean), validation: steps.map((step) => step.val_reward) };
  const result = TrainResult.safeParse(run.result);
  if (run.kind === 'train' && result.success && steps.length > 0) {
    // The held-out measurements before and after stand at the ends of the curve.
    const last = curve.validation.length - 1;
    curve.step.unshift(0);
    curve.reward.unshift(null);
    curve.validation.unshift(result.data.before.mean_reward);
    curve.validation[last + 1] = result.data.after.mean_reward;
  }
  return curve;
}

const stageTitles: Record<(typeof funnelStages)[number], string> = {
  rollouts: 'Rollouts', calls: 'LLM calls', with_token_ids: 'With token ids', scored: 'Scored', trainable: 'Trainable', used: 'Used in update',
};

function funnelOf(step: StepMetrics | undefined): TrainingView['funnel'] {
  if (step === undefined) return null;
  const { funnel } = step;
  const rows = funnelStages.map((stage): FunnelRow => ({
    stage: stageTitles[stage], count: funnel[stage], share: stage === 'rollouts' ? null : funnel[stage] / Math.max(1, funnel.calls), losses: lossesOf(funnel, stage),
  }));
  return { title: `Where the samples of step ${step.step + 1} went`, rows };
}

function lossesOf(funnel: Funnel, stage: (typeof funnelStages)[number]): FunnelRow['losses'] {
  return funnel.losses.filter((loss) => loss.stage === stage).map((loss) => ({ text: `−${loss.count.toLocaleString('en-US')} ${loss.reason}`, rollout_id: loss.rollout_ids[0] ?? null }));
}

interface Column { title: string; unit: string; help: string; cell: (step: StepMetrics) => string }

const columns: Column[] = [
  { title: 'Step', unit: '', help: 'Training step, one policy update each', cell: (s) => String(s.step + 1) },
  { title: 'Reward', unit: 'mean ± sd', help: 'Over the scored rollouts of the step', cell: (s) => (s.reward_mean === null ? nothing : `${number(s.reward_mean, 3)} ± ${number(s.reward_std, 2)}`) },
  { title: 'Held-out', unit: 'reward', help: 'Validation, at the steps that validate', cell: (s) => number(s.val_reward, 3) },
  { title: 'Groups', unit: 'with signal', help: 'Groups whose rewards differ; the others teach nothing', cell: (s) => `${s.groups - s.groups_without_variance} of ${s.groups}` },
  { title: 'Trained', unit: 'tokens', help: 'Generated tokens that carried a loss', cell: (s) => (s.updated ? s.trained_tokens.toLocaleString('en-US') : 'skipped') },
  { title: 'Loss', unit: '', help: 'GRPO surrogate', cell: (s) => compact(s.loss) },
  { title: 'Entropy', unit: 'nats/token', help: 'Of the policy at trained tokens', cell: (s) => number(s.entropy, 3) },
  { title: 'KL', unit: 'nats/token', help: 'To the reference model', cell: (s) => compact(s.kl) },
  { title: 'Clipped', unit: '% of tokens', help: 'Tokens whose ratio the loss clipped', cell: (s) => percent(s.clip_fraction).replace(' %', '') },
  { title: 'Gradient', unit: 'norm', help: 'Before clipping', cell: (s) => compact(s.grad_norm) },
  { title: 'Drift', unit: 'nats', help: 'Largest difference between the log-probabilities of sampler and trainer', cell: (s) => compact(s.logprob_max_diff) },
  { title: 'Response', unit: 'tokens', help: 'Mean length of trained calls', cell: (s) => number(s.response_tokens_mean, 1) },
  { title: 'Rollouts', unit: 's', help: 'Wall time of the rollouts', cell: (s) => number(s.rollout_s, 1) },
  { title: 'Update', unit: 's', help: 'Wall time of the update', cell: (s) => number(s.train_s, 1) },
];

/** Newest step first. */
function tableOf(steps: StepMetrics[]): Table {
  return { columns: columns.map(({ title, unit, help }) => ({ title, unit, help })), rows: [...steps].reverse().map((step) => columns.map((column) => column.cell(step))) };
}
