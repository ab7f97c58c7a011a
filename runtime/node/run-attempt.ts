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
      const result = resultOf(await agent.call(rollout.input, { llm, rollout, resources }));
      if (result.kind === 'reward') {
        root.attributes['agentlightning.operation.output'] = jsonText(result.value);
        recordReward(result.value, {}, {});
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

/** What the agent's return value means. A boolean, NaN or another type is never read as a reward. */
export function resultOf(value: unknown): AgentResult {
  if (value === undefined || value === null) return { kind: 'none' };
  if (typeof value !== 'number') return { kind: 'invalid', description: `${typeof value} ${jsonText(value).slice(0, 80)}` };
  return Number.isFinite(value) ? { kind: 'reward', value } : { kind: 'invalid', description: String(value) };
}
