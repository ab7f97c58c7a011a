import { funnelStages, type Funnel, type StepMetrics } from '../protocol/run.ts';
import { significant } from '../protocol/significant.ts';
import { decimal, table } from './format.ts';

const titles: Record<(typeof funnelStages)[number], string> = {
  rollouts: 'rollouts', calls: 'LLM calls', with_token_ids: 'with token ids', scored: 'scored', trainable: 'trainable', used: 'used in update',
};

/** What there is to say of one step: where its samples went, or, where it learned from examples and had none, what it learned. */
export function stepText(step: StepMetrics): string { return step.funnel.rollouts > 0 ? funnelText(step) : learnedText(step); }

function learnedText({ step, loss, reward_accuracy, reward_margin, grad_norm, lr, trained_tokens }: StepMetrics): string {
  const preferences = [['better answers preferred', decimal(reward_accuracy)], ['reward margin', decimal(reward_margin)]];
  const rows = [['loss', decimal(loss)], ...(reward_accuracy == null ? [] : preferences), ['gradient norm', decimal(grad_norm)], ['learning rate', significant(lr, 3)], ['tokens trained', String(trained_tokens)]];
  return [`step ${step + 1}`, ...table(rows).split('\n').map((line) => `  ${line}`)].join('\n');
}

/** Where the samples of a step went: a line for each stage, and below it what did not reach it, why, and one rollout to look at. */
export function funnelText({ step, funnel }: Pick<StepMetrics, 'step' | 'funnel'>): string {
  const lines = funnelStages.flatMap((stage) => [{ cells: [titles[stage], String(funnel[stage])], note: '' }, ...lossesOf(funnel, stage)]);
  const aligned = table(lines.map(({ cells }) => cells)).split('\n');
  return [`samples of step ${step + 1}`, ...aligned.map((line, index) => `  ${line}  ${lines[index]?.note ?? ''}`.trimEnd())].join('\n');
}

function lossesOf({ losses }: Funnel, stage: (typeof funnelStages)[number]): { cells: string[]; note: string }[] {
  return losses.filter((loss) => loss.stage === stage).map((loss) => ({ cells: ['', `−${loss.count}`], note: `${loss.reason}, e.g. ${loss.rollout_ids[0] ?? 'none kept'}` }));
}
