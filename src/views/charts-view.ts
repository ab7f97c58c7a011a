import { t } from '../../trainer/protocol/l10n.ts';
import { TrainResult } from '../../trainer/protocol/run.ts';
import type { Run, StepMetrics } from '../../trainer/protocol/run.ts';
import type { Chart, ChartsView } from '../../trainer/protocol/views.ts';
import type { RunEntry } from '../runs/run-book.ts';
import { compact, number } from './format.ts';
import { fromExamples } from './step-view.ts';

interface Metric { key: string; title: string; unit: string; help: string; unitRange?: boolean; /** no chart where no step has it */ onlyIfMeasured?: boolean; /** of rollouts: no chart where there are none */ sampled?: boolean; of: (step: StepMetrics) => number | null; rings?: (step: StepMetrics) => number | null }

const metrics = (): Metric[] => [
  { key: 'loss', title: t('Loss'), unit: '', help: t('What the update minimises; of rollouts it says little by itself'), of: (step) => step.loss },
  { key: 'reward', title: t('Reward'), unit: '', help: t('Mean over the scored rollouts of the step; rings are held-out tasks'), unitRange: true, of: (step) => step.reward_mean, rings: (step) => step.val_reward },
  { key: 'response', title: t('Response length'), unit: t('tokens'), help: t('Mean length of the trained calls'), sampled: true, of: (step) => step.response_tokens_mean },
  { key: 'accuracy', title: t('Preferred answers'), unit: t('% of pairs'), help: t('DPO: pairs whose better answer the policy prefers, compared with the model it began as'), onlyIfMeasured: true, of: (step) => (step.reward_accuracy == null ? null : step.reward_accuracy * 100) },
  { key: 'margin', title: t('Reward margin'), unit: '', help: t('DPO: mean difference of the implicit rewards of the better and the worse answer'), onlyIfMeasured: true, of: (step) => step.reward_margin ?? null },
  { key: 'entropy', title: t('Entropy'), unit: t('nats/token'), help: t('Of the policy at trained tokens; near 0 it explores no more'), of: (step) => step.entropy },
  { key: 'kl', title: t('KL to the reference'), unit: t('nats/token'), help: t('How far the policy has moved from the model it began as; measured when grpo.kl_loss_coef is above 0'), sampled: true, of: (step) => step.kl },
  { key: 'clip', title: t('Clipped'), unit: t('% of tokens'), help: t('Trained tokens whose probability ratio the loss clipped'), sampled: true, of: (step) => (step.clip_fraction === null ? null : step.clip_fraction * 100) },
  { key: 'gradient', title: t('Gradient norm'), unit: t('before clipping'), help: t('Euclidean norm over all weights'), of: (step) => step.grad_norm },
  { key: 'rollouts', title: t('Rollouts'), unit: t('per second'), help: t('While the step samples; pauses do not count'), sampled: true, of: (step) => step.rollouts_per_s },
  { key: 'tokens', title: t('Generated tokens'), unit: t('per second'), help: t('While the step samples, trained or not'), sampled: true, of: (step) => step.tokens_per_s },
  { key: 'staleness', title: t('Staleness'), unit: t('policy updates'), help: t('Between the sampling of a call and the update it is used in; 0 is on-policy'), sampled: true, of: (step) => step.staleness },
];

/** The charts of the run shown and of those it is compared with, over all their steps. */
export function chartsView(entries: readonly RunEntry[]): ChartsView {
  const points = entries.map(({ run, steps }) => pointsOf(run, steps));
  const steps = [...new Set(points.flatMap((byStep) => [...byStep.keys()]))].sort((a, b) => a - b);
  const across = (of: (point: Point) => number | null): (number | null)[][] => points.map((byStep) => steps.map((step) => {
    const point = byStep.get(step);
    return point === undefined ? null : of(point);
  }));
  return {
    steps,
    runs: entries.map(({ run, steps: own }, index) => ({ run_id: run.run_id, title: runTitle(run), note: runNote(own), color: index })),
    charts: chartedMetrics(entries).map(({ key, title, unit, help, unitRange = false, of, rings }): Chart => ({
      key, title, unit, help, unitRange,
      series: across(({ metrics: step }) => (step === null ? null : of(step))),
      rings: rings === undefined ? [] : across((point) => point.held_out ?? (point.metrics === null ? null : rings(point.metrics))),
    })),
  };
}

/** The one that counts most first: it is drawn large. */
function chartedMetrics(entries: readonly RunEntry[]): Metric[] {
  const has = (test: (step: StepMetrics) => boolean): boolean => entries.some(({ steps }) => steps.some(test));
  const measured = metrics().filter(({ onlyIfMeasured, of }) => !onlyIfMeasured || has((step) => of(step) !== null));
  const loss = measured.filter(({ key }) => key === 'loss');
  const others = measured.filter(({ key }) => key !== 'loss');
  if (!entries.every(({ steps }) => fromExamples(steps))) return [...others, ...loss];
  const heldOut = entries.some(({ run }) => TrainResult.safeParse(run.result).success);
  return [...loss, ...others.filter(({ sampled, of, rings }) => !sampled && has((step) => of(step) !== null || rings?.(step) != null) || (rings !== undefined && heldOut))];
}

interface Point { metrics: StepMetrics | null; /** measured before or after training */ held_out: number | null }

/** By step from 1. The held-out measurements before and after training stand at 0 and at the last step. */
function pointsOf(run: Run, steps: StepMetrics[]): Map<number, Point> {
  const points = new Map<number, Point>(steps.map((metrics) => [metrics.step + 1, { metrics, held_out: null }]));
  const result = TrainResult.safeParse(run.result);
  const last = points.get((steps.at(-1)?.step ?? -1) + 1);
  if (run.kind === 'train' && result.success && last !== undefined) {
    points.set(0, { metrics: null, held_out: result.data.before.mean_reward });
    last.held_out = result.data.after.mean_reward;
  }
  return points;
}

/** Short and distinct: the agent's name and when the run began. */
export function runTitle(run: Run): string {
  return `${agentName(run.agent)}, ${new Date(run.create_time * 1000).toLocaleString([], { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' })}`;
}

/** `examples/sql-agent/agent.ts:sqlAgent` → `sqlAgent` */
export function agentName(agent: string): string {
  return agent.split(/[/\\]/).at(-1)?.split(':').at(-1) ?? agent;
}

function runNote(steps: StepMetrics[]): string {
  const last = steps.at(-1);
  if (last === undefined) return t('no step yet');
  return fromExamples(steps) ? t('loss {0} at step {1}', compact(last.loss), last.step + 1) : t('reward {0} at step {1}', number(last.reward_mean, 3), last.step + 1);
}
