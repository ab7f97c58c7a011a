import { z } from 'zod';
import { ChatMessage } from './chat.ts';
import { attr, isLlmCall, spanNames, type Span } from './span.ts';

/** A message of the chosen call, replaced. `index`: its place in the request's messages. */
export const MessageEdit = z.object({ index: z.number().int().min(0), message: ChatMessage });
export type MessageEdit = z.infer<typeof MessageEdit>;

/**
 * An attempt to be continued from one of its LLM calls: the calls before it are answered from the record, the chosen one
 * is asked with its edited messages, and the later ones as the agent asks them, the edits kept.
 */
export const Replay = z.object({
  rollout_id: z.string(),
  attempt_id: z.string(),
  call_index: z.number().int().min(0),
  edits: z.array(MessageEdit).default([]),
});
export type Replay = z.infer<typeof Replay>;

/** What an operation came to in the record. Texts are JSON. */
export const RecordedOperation = z.object({ name: z.string(), input: z.string(), output: z.string(), async: z.boolean() });
export type RecordedOperation = z.infer<typeof RecordedOperation>;

/**
 * The operations of an attempt whose result stands for running them: they succeeded with a plain JSON value, and nothing
 * that the trainer must see anew (LLM call, reward, message) happened inside.
 */
export function recordedOperations(spans: readonly Span[]): RecordedOperation[] {
  const byId = new Map(spans.map((span) => [span.span_id, span]));
  const eventful = new Set<string>();
  for (const span of spans) {
    if (!isLlmCall(span) && span.name !== spanNames.reward && span.name !== spanNames.message) continue;
    for (let above = span.parent_id; above !== null && !eventful.has(above); above = byId.get(above)?.parent_id ?? null) eventful.add(above);
  }
  return spans.flatMap((span) => {
    const { [attr.operationLabel]: name, [attr.operationInput]: input, [attr.operationOutput]: output } = span.attributes;
    if (span.parent_id === null || eventful.has(span.span_id) || span.status.status_code === 'ERROR' || span.attributes[attr.operationReplayable] !== true) return [];
    if (typeof name !== 'string' || typeof input !== 'string' || typeof output !== 'string') return [];
    return [{ name, input, output, async: span.attributes[attr.operationAsync] === true }];
  });
}
