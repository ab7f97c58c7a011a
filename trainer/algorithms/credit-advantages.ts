import type { CreditedCall, CreditRule } from '../protocol/credit.ts';
import { groupAdvantages, type Estimation } from './advantages.ts';

export type CreditAdvantages =
  /** By rollout, by call; null: no credit, no gradient. */
  | { kind: 'advantages'; values: (number | null)[][] }
  | { kind: 'skipped'; reason: string };

/**
 * Advantages of the calls of a group of rollouts (of one task). With the rule 'final' rollouts are compared, one value each,
 * as training does; with the others calls are, over all credited calls of the group.
 */
export function creditAdvantages(group: readonly CreditedCall[][], rule: CreditRule, estimation: Estimation): CreditAdvantages {
  if (estimation.adv_estimator.startsWith('reinforce_plus_plus')) return { kind: 'skipped', reason: 'whitened over the whole step' };
  const credited = group.map((calls) => calls.filter((call) => call.credit !== null));
  const samples = rule.kind === 'final' ? credited.flatMap((calls) => calls.slice(0, 1)) : credited.flat();
  const found = groupAdvantages(samples.map((call) => call.credit!), estimation);
  if (found.kind === 'skipped') return found;
  const bySample = new Map(samples.map((call, i) => [call, found.values[i]!]));
  const values = group.map((calls, i) => calls.map((call) => {
    if (call.credit === null) return null;
    return bySample.get(rule.kind === 'final' ? credited[i]![0]! : call) ?? null;
  }));
  return { kind: 'advantages', values };
}
