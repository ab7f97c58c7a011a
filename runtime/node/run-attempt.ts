import { describeError } from './describe-error.ts';
import { recordReward } from './emit.ts';
import { isGatewayError } from './gateway-fetch.ts';
import { jsonText } from './json-text.ts';
import { RecordedOperations } from './recorded.ts';
import type { LoadedAgent } from './load-agent.ts';
import { ActiveSpan } from './span.ts';
import { state } from './state.ts';
import type { AgentResult, RunMessage, WorkerMessage } from './types.ts';

/** Runs the agent once under a root span and says how that ended. Never rejects. */
export async function runAttempt(agent: LoadedAgent, file: string, message: RunMessage, send: (message: WorkerMessage) => void): Promise<AgentResult> {
  const { rollout, trace_id, llm, resources } = message;
  const recorded = new RecordedOperations(message.recorded);
  const root = new ActiveSpan({ rollout_id: rollout.rollout_id, attempt_id: rollout.attempt_id, trace_id, send, recorded }, null, 'agentlightning.operation', {
    'agentlightning.operation.name': agent.name, ...agent.mark?.code, 'agentlightning.operation.input': jsonText(rollout.input),
  }).begin();
  state.root = root;
  try {
    return await state.spans.run(root, async () => {
      const { reward, reason } = splitReason(await agent.call(rollout.input, { llm, rollout, resources }));
      const result = resultOf(reward);
      if (result.kind === 'reward') {
        root.attributes['agentlightning.operation.output'] = jsonText(reason === undefined ? result.value : { reward: result.value, reason });
        recordReward(result.value, { reason }, {});
      }
      root.end();
      return result;
    });
  } catch (error) {
    root.fail(error);
    console.error(error);
    return raised(error, file);
  } finally {
    state.root = null;
  }
}

export function raised(error: unknown, file: string): AgentResult {
  return { kind: 'raised', error: describeError(error, file), gateway: isGatewayError(error) };
}

/** The reward and the reason in `{ reward: 0.5, reason: 'why' }`; anything else is a reward without one, or none. */
export function splitReason(value: unknown): { reward: unknown; reason?: string } {
  if (typeof value !== 'object' || value === null || !('reward' in value)) return { reward: value };
  const { reward, reason, ...others } = value as { reward: unknown; reason?: unknown };
  if (Object.keys(others).length > 0 || (typeof reason !== 'string' && reason !== undefined && reason !== null)) return { reward: value };
  return typeof reason === 'string' ? { reward, reason } : { reward };
}

/** What the agent's return value means. A boolean, NaN or another type is never read as a reward. */
export function resultOf(value: unknown): AgentResult {
  if (value === undefined || value === null) return { kind: 'none' };
  if (typeof value === 'boolean') return { kind: 'invalid', description: `boolean ${value}`, hint: `return 1 or 0 instead of ${value}` };
  if (typeof value !== 'number') return { kind: 'invalid', description: `${typeof value} ${jsonText(value).slice(0, 80)}` };
  return Number.isFinite(value) ? { kind: 'reward', value } : { kind: 'invalid', description: String(value) };
}
