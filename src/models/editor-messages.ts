import { randomUUID } from 'node:crypto';
import type { ChatCompletion, ChatMessage, ChatRequest } from '../../trainer/protocol/chat.ts';

/** A message as VS Code's language models take them: two roles, and parts. */
export interface EditorMessage { role: 'user' | 'assistant'; parts: EditorPart[] }
export type EditorPart =
  | { kind: 'text'; text: string }
  | { kind: 'call'; id: string; name: string; input: object }
  | { kind: 'result'; id: string; text: string };

/** Chat messages for a model of the editor. It knows no system role: those instructions go first, as the user's. */
export function editorMessages(messages: readonly ChatMessage[]): EditorMessage[] {
  return messages.map((message) => {
    const text = textOf(message.content);
    if (message.role === 'tool' || message.role === 'function') return { role: 'user', parts: [{ kind: 'result', id: message.tool_call_id ?? '', text }] };
    if (message.role !== 'assistant') return { role: 'user', parts: [{ kind: 'text', text }] };
    const calls = (message.tool_calls ?? []).map((call): EditorPart => ({ kind: 'call', id: call.id, name: call.function.name, input: inputOf(call.function.arguments) }));
    return { role: 'assistant', parts: [...(text === '' && calls.length > 0 ? [] : [{ kind: 'text', text } as const]), ...calls] };
  });
}

/** The tools of a request; what is no function is left out, as the editor knows no other. */
export function editorTools({ tools }: ChatRequest): { name: string; description: string; inputSchema: object }[] {
  return (tools ?? []).flatMap((tool) => {
    const { name, description, parameters } = (tool['function'] ?? {}) as { name?: unknown; description?: unknown; parameters?: unknown };
    if (typeof name !== 'string') return [];
    return [{ name, description: typeof description === 'string' ? description : '', inputSchema: typeof parameters === 'object' && parameters !== null ? parameters : { type: 'object' } }];
  });
}

/** A completion of what a model of the editor answered. It says nothing of tokens, so there is no usage. */
export function completionOf(model: string, text: string, calls: readonly { id: string; name: string; input: object }[]): ChatCompletion {
  const tool_calls = calls.map(({ id, name, input }) => ({ id, type: 'function' as const, function: { name, arguments: JSON.stringify(input) } }));
  return {
    id: `chatcmpl-${randomUUID()}`, object: 'chat.completion', created: Math.floor(Date.now() / 1000), model,
    choices: [{ index: 0, message: { role: 'assistant', content: text === '' && calls.length > 0 ? null : text, ...(calls.length > 0 ? { tool_calls } : {}) }, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop' }],
  };
}

function textOf(content: ChatMessage['content']): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => (typeof part['text'] === 'string' ? part['text'] : '')).join('');
}

function inputOf(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : { value };
  } catch {
    return { text }; // a model may write arguments that are no JSON
  }
}
