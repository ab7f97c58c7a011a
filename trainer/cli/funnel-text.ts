import { funnelStages, type Funnel, type StepMetrics } from '../protocol/run.ts';
import { table } from './format.ts';

const titles: Record<(typeof funnelStages)[number], string> = {
  rollouts: 'rollouts', calls: 'LLM calls', with_token_ids: 'with token ids', scored: 'scored', trainable: 'trainable', used: 'used in update',
};

/** Where the samples of a step went: a line for each stage, and below it what did not reach it, why, and one rollout to look at. */
export function funnelText({ step, funnel }: Pick<StepMetrics, 'step' | 'funnel'>): string {
  const lines = funnelStages.flatMap((stage) => [{ cells: [titles[stage], String(funnel[stage])], note: '' }, ...lossesOf(funnel, stage)]);
  const aligned = table(lines.map(({ cells }) => cells)).split('\n');
  return [`samples of step ${step + 1}`, ...aligned.map((line, index) => `  ${line}  ${lines[index]?.note ?? ''}`.trimEnd())].join('\n');
}

function lossesOf({ losses }: Funnel, stage: (typeof funnelStages)[number]): { cells: string[]; note: string }[] {
  return losses.filter((loss) => loss.stage === stage).map((loss) => ({ cells: ['', `−${loss.count}`], note: `${loss.reason}, e.g. ${loss.rollout_ids[0] ?? 'none kept'}` }));
}
