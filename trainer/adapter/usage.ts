import { attr, isLlmCall, type Span } from '../protocol/span.ts';

/** Tokens of the LLM calls of an attempt, over those that said; null: none did. */
export function usageOf(spans: readonly Span[]): { input_tokens: number | null; output_tokens: number | null } {
  const calls = spans.filter(isLlmCall);
  const sum = (key: string) => calls.reduce<number | null>((total, { attributes }) => (typeof attributes[key] === 'number' ? (total ?? 0) + attributes[key] : total), null);
  return { input_tokens: sum(attr.inputTokens), output_tokens: sum(attr.outputTokens) };
}
