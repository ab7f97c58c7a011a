import { t } from '../../trainer/protocol/l10n.ts';
import type { AttemptedRollout } from '../../trainer/protocol/rollout.ts';
import { funnelStages } from '../../trainer/protocol/run.ts';
import type { Funnel, StepMetrics } from '../../trainer/protocol/run.ts';
import type { FunnelView, Sample, StepView } from '../../trainer/protocol/views.ts';
import { number } from './format.ts';
import { rolloutHead } from './rollout-view.ts';

/** What of a run's steps is looked at. */
export interface StepChoice { /** null: the newest */ step: number | null; loss: number | null }

/** Steps of SFT or DPO: learned from examples, without a rollout. */
export function fromExamples(steps: readonly StepMetrics[]): boolean { return steps.length > 0 && steps.every(({ funnel }) => funnel.rollouts === 0); }

/** One step in detail: its funnel as a picture, its rollouts by task. `rollouts` null: not read yet. null: no step with rollouts yet. */
export function stepView(steps: readonly StepMetrics[], choice: StepChoice, rollouts: readonly AttemptedRollout[] | null): StepView | null {
  const metrics = (choice.step === null ? undefined : steps.find((step) => step.step === choice.step)) ?? steps.at(-1);
  if (metrics === undefined || fromExamples(steps)) return null;
  const loss = choice.loss !== null && choice.loss < metrics.funnel.losses.length ? choice.loss : null;
  const chosen = loss === null ? null : new Set(metrics.funnel.losses[loss]?.rollout_ids);
  return {
    step: metrics.step,
    steps: steps.map((step) => step.step),
    follows: choice.step === null,
    funnel: funnelView(metrics.funnel),
    loss,
    groups: rollouts === null ? null : sampleGroups(rollouts.filter((rollout) => rollout.mode === 'train' && rollout.step === metrics.step), chosen),
  };
}

const stageTitles = (): Record<(typeof funnelStages)[number], string> => ({
  rollouts: t('Rollouts'), calls: t('LLM calls'), with_token_ids: t('With token ids'), scored: t('Scored'), trainable: t('Trainable'), used: t('Used in update'),
});

export function funnelView(funnel: Funnel): FunnelView {
  const without = funnel.losses.filter((loss) => loss.stage === 'calls').reduce((sum, loss) => sum + loss.count, 0);
  const base = funnel.rollouts === 0 ? 0 : 1 - without / funnel.rollouts;
  const unitOf = (stage: (typeof funnelStages)[number]): 'rollouts' | 'calls' => (stage === 'rollouts' ? 'rollouts' : 'calls');
  const titles = stageTitles();
  return {
    stages: funnelStages.map((stage) => ({
      title: titles[stage], count: funnel[stage], unit: unitOf(stage),
      share: stage === 'rollouts' ? Math.min(1, funnel.rollouts) : (base * funnel[stage]) / Math.max(1, funnel.calls),
    })),
    losses: funnel.losses.map((loss) => ({
      stage: funnelStages.indexOf(loss.stage), reason: loss.reason, count: loss.count, rollouts: loss.rollout_ids.length,
      unit: loss.stage === 'calls' ? 'rollouts' : 'calls', // a rollout without a call has none to lose
    })),
  };
}

function sampleGroups(rollouts: readonly AttemptedRollout[], chosen: ReadonlySet<string> | null): StepView['groups'] {
  const rewards = rollouts.flatMap((rollout) => rollout.attempt?.reward ?? []);
  const [low, high] = [Math.min(...rewards), Math.max(...rewards)];
  const level = (reward: number): number => (high > low ? (reward - low) / (high - low) : 0.5);
  const groups = new Map<string, { task: string; samples: Sample[] }>();
  for (const rollout of rollouts) {
    if (chosen !== null && !chosen.has(rollout.rollout_id)) continue;
    const { title, state, note } = rolloutHead(rollout, false);
    const reward = rollout.attempt?.reward ?? null;
    const group = groups.get(rollout.task_id ?? rollout.rollout_id) ?? { task: title, samples: [] };
    group.samples.push({
      rollout_id: rollout.rollout_id, state,
      label: reward === null ? note : number(reward, 2),
      level: reward === null ? null : level(reward),
      hint: `${title}: ${reward === null ? note : t('reward {0}', number(reward, 3))}`,
    });
    groups.set(rollout.task_id ?? rollout.rollout_id, group);
  }
  return [...groups.values()];
}
