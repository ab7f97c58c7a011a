import { randomUUID } from 'node:crypto';
import { z } from 'zod';

export type ToolCall = { id: string; type: 'function'; function: { name: string; arguments: string } };

export const toolCallStart = '<tool_call>';
export const toolCallEnd = '</tool_call>';
const Body = z.object({ name: z.string().min(1), arguments: z.union([z.record(z.string(), z.unknown()), z.string()]).default({}) });

/**
 * Splits an answer into text and Qwen2.5's tool calls: <tool_call>{"name": …, "arguments": {…}}</tool_call>, any number of them.
 * If one is malformed the whole answer is plain text: nothing the model wrote is lost.
 */
export function parseToolCalls(text: string): { content: string; calls: ToolCall[] } {
  const [before, ...blocks] = text.split(toolCallStart) as [string, ...string[]];
  const calls: ToolCall[] = [];
  for (const block of blocks) {
    const end = block.indexOf(toolCallEnd);
    const call = end < 0 || block.slice(end + toolCallEnd.length).trim() !== '' ? null : parseCall(block.slice(0, end));
    if (!call) return { content: text, calls: [] };
    calls.push(call);
  }
  return { content: calls.length > 0 ? before.trimEnd() : before, calls };
}

function parseCall(json: string): ToolCall | null {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return null;
  }
  const body = Body.safeParse(value);
  if (!body.success) return null;
  const { name, arguments: args } = body.data;
  return { id: `call_${randomUUID().replaceAll('-', '')}`, type: 'function', function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args) } };
}
