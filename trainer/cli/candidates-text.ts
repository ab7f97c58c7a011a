import type { Candidate } from '../protocol/optimize.ts';
import { decimal, oneLine, table } from './format.ts';

/** The candidates of a search as a table: who came from whom, what they scored, why they were not taken. The winner has a star. */
export function candidatesText(candidates: readonly Candidate[], winner: string): string {
  return table([['candidate', 'from', 'status', 'batch', 'validation', 'test', 'rollouts', ''], ...candidates.map((candidate) => row(candidate, winner))]);
}

function row({ candidate_id, parents, status, minibatch, validation, test, cost, rejection }: Candidate, winner: string): string[] {
  return [
    `${candidate_id}${candidate_id === winner ? ' *' : ''}`,
    parents.join('+'),
    status,
    minibatch ? `${decimal(minibatch.parent, 2)}→${decimal(minibatch.child, 2)}` : '',
    validation ? `${decimal(validation.mean_reward)} (${validation.n})` : '',
    test ? `${decimal(test.mean_reward)} (${test.n})` : '',
    String(cost.rollouts),
    status === 'rejected' && rejection ? oneLine(`${rejection.rule}: ${rejection.message}`).slice(0, 80) : '',
  ];
}
