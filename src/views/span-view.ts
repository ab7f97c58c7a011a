import { attr, isLlmCall, spanNames } from '../../trainer/protocol/span.ts';
import type { AttributeValue, Span } from '../../trainer/protocol/span.ts';
import type { Section, SpanKind, SpanView } from '../../trainer/protocol/views.ts';
import { chatMessages } from './chat-messages.ts';
import { clip, number, oneLine } from './format.ts';

/** A span as the trace page draws it. The texts come from the workspace: they are plain text. */
export function spanView(span: Span): SpanView {
  const kind = kindOf(span);
  return {
    span_id: span.span_id,
    parent_id: span.parent_id,
    kind,
    title: titleOf(span, kind),
    note: noteOf(span, kind),
    failed: span.status.status_code === 'ERROR',
    start: span.start_time,
    end: span.end_time,
    sections: sectionsOf(span, kind),
  };
}

function kindOf(span: Span): SpanKind {
  if (isLlmCall(span)) return 'llm';
  if (span.name === spanNames.reward) return 'reward';
  if (span.name === spanNames.message) return 'message';
  if (span.name === spanNames.exception) return 'exception';
  return span.name === spanNames.operation || span.attributes[attr.operationLabel] !== undefined ? 'operation' : 'other';
}

function titleOf(span: Span, kind: SpanKind): string {
  if (kind === 'llm') return oneLine(text(span, attr.responseModel) ?? text(span, attr.requestModel) ?? span.name);
  if (kind === 'reward') return text(span, attr.rewardName) ?? 'reward';
  if (kind === 'message') return oneLine(text(span, attr.messageBody) ?? 'message');
  if (kind === 'exception') return oneLine(text(span, 'exception.type') ?? 'exception');
  return text(span, attr.operationLabel) ?? span.name;
}

function noteOf(span: Span, kind: SpanKind): string {
  if (kind === 'reward') return number(numeric(span, attr.rewardValue), 3);
  if (kind === 'exception') return oneLine(text(span, 'exception.message') ?? '');
  if (kind !== 'llm') return '';
  const input = numeric(span, attr.inputTokens);
  const output = numeric(span, attr.outputTokens);
  return input === null || output === null ? '' : `${input} → ${output} tokens`;
}

function sectionsOf(span: Span, kind: SpanKind): Section[] {
  const sections: Section[] = [];
  if (span.status.status_code === 'ERROR') {
    sections.push({ kind: 'text', title: 'Error', tone: 'error', text: clip(span.status.description ?? text(span, attr.errorType) ?? 'The span ended with an error and says no more.') });
  }
  if (span.attributes[attr.incomplete] === true) {
    sections.push({ kind: 'text', title: 'Incomplete', tone: 'error', text: 'The stream broke off. This call can be read but is not trained on.' });
  }
  if (kind === 'llm') {
    const messages = [...chatMessages(text(span, attr.inputMessages)), ...chatMessages(text(span, attr.outputMessages), 'assistant')];
    if (messages.length > 0) sections.push({ kind: 'chat', title: 'Conversation', messages });
  }
  if (kind === 'message') sections.push({ kind: 'text', title: 'Message', tone: 'plain', text: clip(text(span, attr.messageBody) ?? '') });
  if (kind === 'exception') {
    sections.push({ kind: 'text', title: text(span, 'exception.type') ?? 'Exception', tone: 'error', text: clip(text(span, 'exception.stacktrace') ?? text(span, 'exception.message') ?? '') });
  }
  for (const [key, title] of [[attr.operationInput, 'Input'], [attr.operationOutput, 'Output']] as const) {
    const value = text(span, key);
    if (value !== null) sections.push({ kind: 'text', title, tone: 'plain', text: clip(prettyJson(value)) });
  }
  for (const event of span.events) {
    sections.push({ kind: 'fields', title: `Event ${event.name}`, fields: Object.entries(event.attributes).map(([name, value]) => [name, attributeText(value)]) });
  }
  sections.push({ kind: 'fields', title: 'Attributes', fields: attributeFields(span) });
  return sections;
}

/** Shown in sections of their own. */
const shownElsewhere = new Set<string>([attr.inputMessages, attr.outputMessages, attr.operationInput, attr.operationOutput, attr.messageBody, 'exception.stacktrace']);

function attributeFields(span: Span): [string, string][] {
  const fields = Object.entries(span.attributes).filter(([name]) => !shownElsewhere.has(name)).map(([name, value]): [string, string] => [name, attributeText(value)]);
  return [...fields, ['span id', span.span_id]];
}

function attributeText(value: AttributeValue): string {
  if (!Array.isArray(value)) return clip(String(value), 2000);
  return value.length <= 12 ? value.join(', ') : `${value.slice(0, 12).join(', ')} … ${value.length} values`;
}

export function prettyJson(value: string): string {
  try {
    const parsed: unknown = JSON.parse(value);
    return typeof parsed === 'string' ? parsed : JSON.stringify(parsed, null, 2);
  } catch {
    return value;
  }
}

function text(span: Span, key: string): string | null {
  const value = span.attributes[key];
  return typeof value === 'string' ? value : null;
}

function numeric(span: Span, key: string): number | null {
  const value = span.attributes[key];
  return typeof value === 'number' ? value : null;
}
