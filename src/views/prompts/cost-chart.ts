import { t } from '../../../trainer/protocol/l10n.ts';
import type { Budget, Candidate, Optimization, OptimizeCost } from '../../../trainer/protocol/optimize.ts';
import type { CostChart, CostPoint } from '../../../trainer/protocol/prompt-views.ts';

type Unit = keyof Budget;

const units: { unit: Unit; words: () => string; of: (cost: OptimizeCost) => number | null }[] = [
  { unit: 'rollouts', words: () => t('rollouts'), of: (cost) => cost.rollouts },
  { unit: 'usd', words: () => t('US dollars'), of: (cost) => cost.usd },
  { unit: 'tokens', words: () => t('tokens'), of: (cost) => cost.input_tokens + cost.output_tokens },
  { unit: 'minutes', words: () => t('minutes'), of: (cost) => cost.seconds / 60 },
];

export const spentOf = (unit: Unit, cost: OptimizeCost): number | null => units.find((each) => each.unit === unit)?.of(cost) ?? null;

/** Validation scores over what had been spent when they were known, in the unit of the first limit. */
export function costChart({ budget, candidates, best }: Optimization): CostChart {
  const axis = units.find(({ unit }) => budget[unit] !== undefined) ?? units[0]!;
  const points = candidates.flatMap((candidate) => pointOf(candidate, best, axis.of)).sort((a, b) => a.x - b.x);
  const line: CostChart['line'] = [];
  for (const { x, y, state } of points) if (state === 'kept' && y > (line.at(-1)?.y ?? -Infinity)) line.push({ x, y });
  const last = points.at(-1);
  const top = line.at(-1);
  if (last !== undefined && top !== undefined && last.x > top.x) line.push({ x: last.x, y: top.y });
  return { unit: axis.words(), limit: budget[axis.unit] ?? null, points, line, unitRange: points.every(({ y }) => y >= 0 && y <= 1) };
}

function pointOf({ candidate_id, status, validation, spent }: Candidate, best: string, of: (cost: OptimizeCost) => number | null): CostPoint[] {
  const y = validation?.mean_reward ?? null;
  const x = of(spent);
  return y === null || x === null ? [] : [{ candidate_id, x, y, state: status, best: candidate_id === best }];
}
