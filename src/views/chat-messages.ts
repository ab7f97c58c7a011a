import { z } from 'zod';
import { ChatMessage } from '../../trainer/protocol/chat.ts';
import type { ChatLine } from '../../trainer/protocol/trace-views.ts';
import { clip } from './format.ts';

/** A message of OpenTelemetry's GenAI conventions, as other tools record them. */
const PartsMessage = z.looseObject({ role: z.string(), name: z.string().nullish(), parts: z.array(z.looseObject({ type: z.string() })) });
const Message = z.union([PartsMessage, ChatMessage]);
const Messages = z.union([z.array(Message), Message.transform((message) => [message])]);

/**
 * The messages in an attribute's JSON text, for reading. Text that is no list of chat messages is shown as it is, as one
 * message of `role`. `editable`: they are a request's, whose texts can be changed.
 */
export function chatMessages(json: string | null, role = 'unknown', editable = false): ChatLine[] {
  if (json === null) return [];
  try {
    const parsed = Messages.safeParse(JSON.parse(json));
    if (parsed.success) return parsed.data.map((message, index) => ('parts' in message ? partsLine(message as z.infer<typeof PartsMessage>) : openAILine(message, editable ? index : null)));
  } catch {
    // not JSON: shown below
  }
  return [{ role, name: null, text: clip(json), calls: [], index: null }];
}

function openAILine(message: ChatMessage, index: number | null): ChatLine {
  return {
    role: message.role,
    name: message.name ?? message.tool_call_id ?? null,
    text: clip(contentText(message.content)),
    calls: (message.tool_calls ?? []).map((call) => ({ name: call.function.name, arguments: clip(call.function.arguments) })),
    index: typeof message.content === 'string' ? index : null,
  };
}

function contentText(content: ChatMessage['content']): string {
  if (typeof content === 'string') return content;
  if (content === null || content === undefined) return '';
  return content.map((part) => (typeof part['text'] === 'string' ? part['text'] : `[${part.type}]`)).join('\n');
}

function partsLine({ role, name, parts }: z.infer<typeof PartsMessage>): ChatLine {
  const texts: string[] = [];
  const calls: ChatLine['calls'] = [];
  for (const part of parts) {
    const content = part['content'] ?? part['response'] ?? part['result'] ?? part['text'];
    if (part.type === 'tool_call') calls.push({ name: textOf(part['name'] ?? 'tool'), arguments: clip(textOf(part['arguments'] ?? '')) });
    else if (content === undefined) texts.push(`[${part.type}]`);
    else texts.push(part.type === 'reasoning' ? `(reasoning) ${textOf(content)}` : textOf(content));
  }
  return { role, name: name ?? null, text: clip(texts.join('\n')), calls, index: null };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
