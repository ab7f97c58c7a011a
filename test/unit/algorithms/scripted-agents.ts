import type { AttemptedRollout } from '../../../trainer/protocol/rollout.ts';
import { attr, spanNames, type Attributes, type Span } from '../../../trainer/protocol/span.ts';
import { newSpanId, traceIdOf } from '../../../trainer/store/ids.ts';
import type { AttemptEnd, Store } from '../../../trainer/store/store.ts';

export interface ScriptedCall { agent?: string; prompt: number[]; response: number[]; attributes?: Attributes; failed?: string; /** Emitted after the call. */ reward?: number }
export interface ScriptedEnd extends AttemptEnd { calls: ScriptedCall[] }

/** Spans as gateway and runtime write them: each call inside an operation of the agent's name, if it has one. */
export function spansOf(store: Store, { rollout_id, attempt }: AttemptedRollout, calls: ScriptedCall[]): Span[] {
  const attempt_id = attempt!.attempt_id;
  let now = 0;
  const base = () => ({
    rollout_id, attempt_id, sequence_id: store.nextSequenceId(rollout_id, attempt_id), trace_id: traceIdOf(attempt_id), span_id: newSpanId(),
    parent_id: null as string | null, status: { status_code: 'UNSET' as const }, events: [], start_time: ++now, end_time: now, resource: { attributes: {} },
  });
  return calls.flatMap(({ agent, prompt, response, attributes, failed, reward }, index): Span[] => {
    const operation: Span | null = agent === undefined ? null : { ...base(), name: spanNames.operation, attributes: { [attr.operationLabel]: agent } };
    const call: Span = {
      ...base(), name: 'chat', parent_id: operation?.span_id ?? null,
      status: failed === undefined ? { status_code: 'UNSET' } : { status_code: 'ERROR', description: failed },
      attributes: {
        [attr.operationName]: 'chat', [attr.callIndex]: index, [attr.requestTemperature]: 1,
        ...(failed === undefined ? { [attr.promptTokenIds]: prompt, [attr.responseTokenIds]: response, [attr.responseLogprobs]: response.map(() => -0.5), [attr.outputTokens]: response.length } : {}),
        ...attributes,
      },
    };
    const emitted: Span[] = reward === undefined ? [] : [{ ...base(), name: spanNames.reward, attributes: { [attr.rewardName]: 'reward', [attr.rewardValue]: reward } }];
    return [...(operation ? [operation] : []), call, ...emitted];
  });
}

/** Answers every waiting rollout as `behave` says, a few at a time and the last of them first, as real workers overtake each other. */
export function workOff(store: Store, behave: (rollout: AttemptedRollout) => ScriptedEnd): () => void {
  let scheduled = false;
  const round = () => {
    scheduled = false;
    const taken: AttemptedRollout[] = [];
    for (let i = 0; i < 5; i++) {
      const rollout = store.dequeueRollout(`worker-${i}`);
      if (rollout) taken.push(rollout);
    }
    for (const rollout of taken.reverse()) {
      const { calls, ...end } = behave(rollout);
      store.addSpans(spansOf(store, rollout, calls));
      store.finishAttempt(rollout.rollout_id, rollout.attempt!.attempt_id, end);
    }
    if (taken.length > 0) schedule();
  };
  const schedule = () => {
    if (!scheduled) setImmediate(round);
    scheduled = true;
  };
  return store.onEvent((event) => {
    if (event.type === 'rollout' && event.rollout.status === 'queuing') schedule();
  });
}
