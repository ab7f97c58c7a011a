import type { AttemptedRollout } from '../../trainer/protocol/rollout.ts';
import { expectedOf } from '../../trainer/protocol/tasks.ts';
import { compact } from '../views/format.ts';

/** How a task ended as a test. `errored`: nothing is known of the agent, so it has not failed. */
export type Verdict =
  | { kind: 'passed'; reward: number }
  | { kind: 'failed'; message: string; difference: { expected: string; actual: string } | null }
  | { kind: 'errored'; message: string }
  | { kind: 'skipped' };

type Translate = (text: string, ...values: string[]) => string;

/** Rewards are sums of fractions as a rule: 0.1 added ten times is to reach 1. */
const tolerance = 1e-9;

/** The verdict on a finished rollout: a reward of at least `threshold` passes. `answer`: what the agent came to. */
export function verdictOf({ attempt, input, status }: AttemptedRollout, answer: string | null, threshold: number, t: Translate): Verdict {
  const outcome = attempt?.outcome ?? (status === 'cancelled' ? 'cancelled' : 'infra_error');
  switch (outcome) {
    case 'scored': {
      const reward = attempt?.reward ?? NaN; // a number whenever the outcome is `scored`
      if (reward >= threshold - tolerance) return { kind: 'passed', reward };
      return { kind: 'failed', message: t('Reward {0} is below {1}', compact(reward), compact(threshold)), difference: { expected: expectedText(input, threshold), actual: actualText(reward, answer) } };
    }
    case 'agent_error': case 'timeout': case 'context_overflow':
      return { kind: 'failed', message: attempt?.error ?? outcome, difference: null };
    case 'unscored': case 'infra_error':
      return { kind: 'errored', message: attempt?.error ?? outcome };
    case 'cancelled': return { kind: 'skipped' };
  }
}

/** The line of the agent's own code that an error of it ends with. Lines count from 1. */
export function placeInError(error: string): { file: string; line: number } | null {
  const [, file, line] = / \(([^()]+):(\d+)\)$/.exec(error) ?? [];
  return file === undefined ? null : { file, line: Number(line) };
}

function expectedText(input: unknown, threshold: number): string {
  const expected = expectedOf(input);
  return paragraphs(`reward ≥ ${compact(threshold)}`, expected === undefined ? null : typeof expected === 'string' ? expected : JSON.stringify(expected, null, 2));
}

function actualText(reward: number, answer: string | null): string {
  return paragraphs(`reward ${compact(reward)}`, answer);
}

function paragraphs(head: string, body: string | null): string {
  return body === null ? head : `${head}\n\n${body}`;
}
