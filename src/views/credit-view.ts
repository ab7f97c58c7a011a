import { plural } from '../../trainer/protocol/l10n.ts';
import type { TraceCredit } from '../../trainer/protocol/credit.ts';
import type { CreditView } from '../../trainer/protocol/trace-views.ts';
import { signed } from './format.ts';

/** The credit of an attempt in words. `titleOf`: the name of a call. */
export function creditViewOf(credit: TraceCredit, titleOf: (span_id: string) => string): CreditView {
  return {
    rule: credit.settings.rule,
    rewards: credit.rewards.map((reward) => ({ span_id: reward.span_id, name: reward.name, value: reward.value.toFixed(3), calls: reward.calls, byHand: reward.linked === 'hand' })),
    calls: credit.calls.map((call) => ({ span_id: call.span_id, title: `${call.call_index + 1}. ${titleOf(call.span_id)}`, credit: call.credit === null ? null : signed(call.credit, 3), advantage: call.advantage })),
    note: credit.reason ?? plural(credit.group - 1, 'Compared with {0} other rollout of the same task.', 'Compared with {0} other rollouts of the same task.'),
  };
}
