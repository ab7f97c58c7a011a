import { attr } from '../../trainer/protocol/span.ts';
import type { Span } from '../../trainer/protocol/span.ts';
import { chatMessages } from './chat-messages.ts';
import { kindOf, text } from './span-attributes.ts';
import { plainJson } from './span-detail.ts';

/** What an agent came to: the text of the last answer of its model, else the output of the last operation in it; null: neither is recorded. */
export function answerOf(spans: readonly Span[]): string | null {
  const inOrder = [...spans].sort((a, b) => a.sequence_id - b.sequence_id);
  const said = inOrder.filter((span) => kindOf(span) === 'llm').flatMap((span) => chatMessages(text(span, attr.outputMessages), 'assistant')).findLast((message) => message.text.trim() !== '');
  if (said !== undefined) return said.text;
  // Of the agent itself, the outermost operation, the output is the reward.
  const output = inOrder.filter((span) => span.parent_id !== null).map((span) => text(span, attr.operationOutput)).findLast((each) => each !== null);
  return output == null ? null : plainJson(output);
}
