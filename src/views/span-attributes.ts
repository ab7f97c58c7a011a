import { attr, isLlmCall, spanNames } from '../../trainer/protocol/span.ts';
import type { Span } from '../../trainer/protocol/span.ts';
import type { SpanKind } from '../../trainer/protocol/trace-views.ts';

export function text(span: Span, key: string): string | null {
  const value = span.attributes[key];
  return typeof value === 'string' ? value : null;
}

export function numeric(span: Span, key: string): number | null {
  const value = span.attributes[key];
  return typeof value === 'number' ? value : null;
}

/** Operations of OpenTelemetry's GenAI conventions that other tools record. */
const foreignOperations = new Set(['invoke_agent', 'create_agent', 'execute_tool', 'invoke_workflow']);
const foreignCalls = new Set(['text_completion', 'generate_content']);

export function kindOf(span: Span): SpanKind {
  const operation = text(span, attr.operationName) ?? '';
  if (isLlmCall(span) || foreignCalls.has(operation)) return 'llm';
  if (span.name === spanNames.reward) return 'reward';
  if (span.name === spanNames.message) return 'message';
  if (span.name === spanNames.exception) return 'exception';
  return span.name === spanNames.operation || span.attributes[attr.operationLabel] !== undefined || foreignOperations.has(operation) ? 'operation' : 'other';
}
