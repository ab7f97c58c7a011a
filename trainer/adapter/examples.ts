import { z } from 'zod';
import { ChatCompletion, ChatMessage } from '../protocol/chat.ts';
import type { Example } from '../protocol/examples.ts';
import { attr, isLlmCall, type Span } from '../protocol/span.ts';
import { agentFinder } from './agent-of.ts';

const Messages = z.array(ChatMessage).min(1);
const Answers = z.array(ChatCompletion.shape.choices.element.shape.message).min(1);
const Tools = z.array(z.unknown());

/**
 * The LLM calls of an attempt, of whatever model, as conversations whose last message is the answer. `agent_match` as in training.
 * Left out: failed calls, and answers that were cut off, which would teach to end there.
 */
export function callExamples(spans: readonly Span[], { agent_match }: { agent_match?: string | undefined } = {}): Example[] {
  const agentOf = agentFinder(spans);
  const expression = agent_match === undefined ? null : new RegExp(agent_match);
  return spans.filter(isLlmCall).flatMap((span) => {
    if (span.status.status_code === 'ERROR' || span.attributes[attr.incomplete] === true) return [];
    const reasons = span.attributes[attr.finishReasons];
    if (Array.isArray(reasons) && reasons.some((reason) => reason === 'length')) return [];
    const agent = agentOf(span);
    if (expression && (agent === null || !expression.test(agent))) return [];
    const messages = parsed(Messages, span.attributes[attr.inputMessages]);
    const [answer] = parsed(Answers, span.attributes[attr.outputMessages]) ?? [];
    if (!messages || !answer) return [];
    const { content, tool_calls } = answer;
    return [{ messages: [...messages, { role: 'assistant', content: content ?? null, ...(tool_calls ? { tool_calls } : {}) }], tools: parsed(Tools, span.attributes[attr.toolDefinitions]), from: messages.length }];
  });
}

function parsed<T>(schema: z.ZodType<T>, text: unknown): T | null {
  if (typeof text !== 'string') return null;
  try {
    return schema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null; // spans come from outside, too
  }
}
