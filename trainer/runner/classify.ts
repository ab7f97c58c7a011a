import { attr, type Span } from '../protocol/span.ts';
import type { AttemptEnd } from '../store/store.ts';
import type { AgentResult } from './messages.ts';

/** How an attempt came to its end, as the runner saw it. */
export type Ending =
  | { kind: 'result'; result: AgentResult }
  /** The process ended by itself, or was ended for breaking the protocol. */
  | { kind: 'died'; reason: string }
  | { kind: 'timeout'; seconds: number }
  | { kind: 'cancelled' }
  /** The store ended the attempt (cancelled, or its own time limit): nothing is left to record. */
  | { kind: 'over'; reason: string };

/** What the ending means. `emitted`: the last reward the agent emitted; `lastCall`: its last LLM call. A missing reward is never 0. */
export function outcomeOf(ending: Exclude<Ending, { kind: 'over' }>, emitted: number | undefined, lastCall: Span | undefined): AttemptEnd {
  switch (ending.kind) {
    case 'died': return { outcome: 'agent_error', error: ending.reason };
    case 'timeout': return { outcome: 'timeout', error: `The agent did not finish within ${ending.seconds} s and was stopped.` };
    case 'cancelled': return { outcome: 'cancelled', error: 'The rollout was cancelled.' };
    case 'result': return outcomeOfResult(ending.result, emitted, lastCall);
  }
}

function outcomeOfResult(result: AgentResult, emitted: number | undefined, lastCall: Span | undefined): AttemptEnd {
  switch (result.kind) {
    case 'reward': return { outcome: 'scored', reward: result.value };
    case 'none': return emitted === undefined
      ? { outcome: 'unscored', error: 'The agent returned no reward and emitted none: return a number, or call emit_reward (Python) or emitReward (TypeScript).' }
      : { outcome: 'scored', reward: emitted };
    case 'invalid': return { outcome: 'agent_error', error: `The agent returned ${result.description} where its reward, a finite number, was expected${result.hint === undefined ? '' : `: ${result.hint}`}.` };
    case 'raised': return outcomeOfError(result, lastCall);
  }
}

/** An agent that gives up because the model could not answer is not to blame. */
function outcomeOfError({ error, gateway }: { error: string; gateway: boolean }, lastCall: Span | undefined): AttemptEnd {
  if (gateway) return { outcome: 'infra_error', error: `The agent could not reach the gateway: ${error}` };
  if (lastCall?.status.status_code !== 'ERROR') return { outcome: 'agent_error', error };
  if (lastCall.attributes[attr.errorType] === 'context_length_exceeded') return { outcome: 'context_overflow', error: `The agent's last LLM call was longer than the model's context: ${error}` };
  const status = lastCall.attributes[attr.httpStatus];
  if (typeof status === 'number' && (status === 429 || status >= 500)) {
    return { outcome: 'infra_error', error: `The agent's last LLM call failed (HTTP ${status}, ${lastCall.status.description ?? 'no details'}): ${error}` };
  }
  return { outcome: 'agent_error', error };
}
