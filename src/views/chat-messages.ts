import { z } from 'zod';
import { ChatMessage } from '../../trainer/protocol/chat.ts';
import { clip } from './format.ts';

const Messages = z.union([z.array(ChatMessage), ChatMessage.transform((message) => [message])]);

/**
 * The messages in an attribute's JSON text, for reading. Text that is no list of chat messages is shown as it is,
 * as one message of `role`.
 */
export function chatMessages(json: string | null, role = 'unknown'): { role: string; text: string }[] {
  if (json === null) return [];
  try {
    const parsed = Messages.safeParse(JSON.parse(json));
    if (parsed.success) return parsed.data.map((message) => ({ role: message.role, text: clip(bodyOf(message)) }));
  } catch {
    // not JSON: shown below
  }
  return [{ role, text: clip(json) }];
}

function bodyOf(message: ChatMessage): string {
  const calls = (message.tool_calls ?? []).map((call) => `${call.function.name}(${call.function.arguments})`);
  return [contentText(message.content), ...calls].filter((part) => part !== '').join('\n');
}

function contentText(content: ChatMessage['content']): string {
  if (typeof content === 'string') return content;
  if (content === null || content === undefined) return '';
  return content.map((part) => (typeof part['text'] === 'string' ? part['text'] : `[${part.type}]`)).join('\n');
}
