import { z } from 'zod';
import { ChatMessage } from '../protocol/chat.ts';
import { attr, isLlmCall, spanNames, type Span } from '../protocol/span.ts';

/** Of one message; a few long ones must not push the rest out. */
const messageCharacters = 1500;

const Messages = z.array(ChatMessage.partial({ role: true }));

/** What a rollout did, for a reader who has its prompts: the task, its LLM calls without what an earlier one said already, and notes of the agent. */
export function transcriptOf(input: unknown, spans: readonly Span[], limit: number): string {
  const lines = [`Task: ${cut(typeof input === 'string' ? input : JSON.stringify(input), messageCharacters)}`];
  const told = new Set<string>();
  const tell = (line: string): void => {
    if (!told.has(line)) lines.push(line);
    told.add(line);
  };
  for (const span of spans) {
    const note = span.attributes[attr.messageBody];
    if (span.name === spanNames.message && typeof note === 'string') tell(`Note: ${cut(note, messageCharacters)}`);
    if (!isLlmCall(span)) continue;
    for (const message of messagesIn(span, attr.inputMessages)) if (message.role !== 'system' && message.role !== 'developer') tell(lineOf(message));
    for (const message of messagesIn(span, attr.outputMessages)) tell(lineOf({ role: 'assistant', ...message }));
    if (span.status.status_code === 'ERROR') tell(`The call failed: ${cut(span.status.description ?? 'no reason given', messageCharacters)}`);
  }
  return cut(lines.join('\n'), limit);
}

function messagesIn(span: Span, key: string): z.infer<typeof Messages> {
  const text = span.attributes[key];
  if (typeof text !== 'string') return [];
  try {
    return Messages.parse(JSON.parse(text));
  } catch {
    return []; // a call that was malformed: its error says more
  }
}

function lineOf({ role, content, tool_calls }: z.infer<typeof Messages>[number]): string {
  const text = typeof content === 'string' ? content : (content ?? []).map((part) => (typeof part['text'] === 'string' ? part['text'] : `[${part.type}]`)).join('\n');
  const calls = (tool_calls ?? []).map(({ function: { name, arguments: args } }) => `${name}(${args})`).join(', ');
  return `${role ?? 'message'}: ${cut([text, calls === '' ? '' : `calls ${calls}`].filter((part) => part !== '').join(' · '), messageCharacters)}`;
}

/** At most about `limit` characters: beginning and end stay, which tell most. */
export function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const head = Math.ceil(limit * 0.6);
  const tail = Math.floor(limit * 0.4);
  return `${text.slice(0, head)} … (${text.length - head - tail} characters left out) … ${text.slice(text.length - tail)}`;
}
