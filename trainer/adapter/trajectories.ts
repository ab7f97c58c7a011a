import type { ConstrainedPart } from '../protocol/policy.ts';
import type { Transition } from './transitions.ts';

/** One training row. `tokens`, `mask`, `logprobs` have the same length. */
export interface Trajectory {
  rollout_id: string;
  tokens: number[];
  /** 1 where the policy drew the token, 0 where it was shown (prompt, tool results). */
  mask: number[];
  /** Of drawn tokens, nats; 0 elsewhere. */
  logprobs: number[];
  temperature: number;
  /** The LLM calls in the row, and where their responses are in it. */
  calls: { span_id: string; start: number; length: number }[];
  /** Of those, the responses that had to fit a format; absent: none. */
  constraints?: ConstrainedPart[];
}

/**
 * Rows of the given calls, those of a rollout in call order. 'transition': one row per call. 'trajectory': a call extends
 * the longest row of its rollout whose tokens its prompt begins with, exactly, at the same temperature, so that a context is
 * processed once instead of once per call. A prompt that a template rewrote starts a row of its own: nothing is lost, and
 * every drawn token has mask 1 in exactly one row.
 */
export function toTrajectories(transitions: readonly Transition[], aggregation: 'transition' | 'trajectory'): Trajectory[] {
  const rows: Trajectory[] = [];
  const ofRollout = new Map<string, Trajectory[]>();
  for (const transition of transitions) {
    let candidates = ofRollout.get(transition.rollout_id);
    if (!candidates) ofRollout.set(transition.rollout_id, candidates = []);
    let row = aggregation === 'trajectory' ? longestContinued(candidates, transition) : undefined;
    if (!row) {
      row = { rollout_id: transition.rollout_id, tokens: [], mask: [], logprobs: [], temperature: transition.temperature, calls: [] };
      rows.push(row);
      candidates.push(row);
    }
    extend(row, transition);
  }
  return rows;
}

function longestContinued(rows: readonly Trajectory[], { prompt, temperature }: Transition): Trajectory | undefined {
  let longest: Trajectory | undefined;
  for (const row of rows) {
    if (row.temperature !== temperature || row.tokens.length > prompt.length) continue;
    if (longest && row.tokens.length <= longest.tokens.length) continue;
    if (row.tokens.every((token, position) => prompt[position] === token)) longest = row;
  }
  return longest;
}

function extend(row: Trajectory, { span_id, prompt, response, logprobs, format }: Transition): void {
  // A loop, not push(...ids): a long prompt would overflow the argument list.
  for (let position = row.tokens.length; position < prompt.length; position++) append(row, prompt[position]!, 0, 0);
  const place = { start: row.tokens.length, length: response.length };
  row.calls.push({ span_id, ...place });
  if (format !== undefined) (row.constraints ??= []).push({ ...place, format });
  response.forEach((token, position) => append(row, token, 1, logprobs[position]!));
}

function append(row: Trajectory, token: number, drawn: 0 | 1, logprob: number): void {
  row.tokens.push(token);
  row.mask.push(drawn);
  row.logprobs.push(logprob);
}
