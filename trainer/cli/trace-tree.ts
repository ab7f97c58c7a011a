import pc from 'picocolors';
import { attr, isLlmCall, spanNames, type Span } from '../protocol/span.ts';
import { oneLine, printable } from './format.ts';

/** The spans of one attempt as an indented tree, one line each, with what matters of its kind. */
export function spanTree(spans: Span[]): string {
  const ids = new Set(spans.map((span) => span.span_id));
  const children = new Map<string | null, Span[]>();
  for (const span of spans) {
    const parent = span.parent_id !== null && ids.has(span.parent_id) ? span.parent_id : null;
    children.set(parent, [...(children.get(parent) ?? []), span]);
  }
  const lines: string[] = [];
  const visit = (parent: string | null, prefix: string): void => {
    const list = children.get(parent) ?? [];
    list.forEach((span, index) => {
      const last = index === list.length - 1;
      lines.push(`${prefix}${last ? '└─' : '├─'} ${spanLine(span)}`);
      visit(span.span_id, `${prefix}${last ? '   ' : '│  '}`);
    });
  };
  visit(null, '  ');
  return lines.length === 0 ? pc.dim('  no spans: the agent made no LLM call through the trainer and emitted nothing') : lines.join('\n');
}

function spanLine(span: Span): string {
  const ms = span.end_time === null ? 'running' : milliseconds(span.end_time - span.start_time);
  const error = span.status.status_code === 'ERROR' ? ` ${pc.red(oneLine(span.status.description ?? 'error'))}` : '';
  return `${pc.bold(oneLine(label(span)))} ${pc.dim(ms)}${detail(span)}${error}`;
}

/** Below what the clocks of some agents tell it is not 0. */
function milliseconds(seconds: number): string { return seconds < 0.0005 ? '<1 ms' : `${Math.round(seconds * 1000)} ms`; }

function label(span: Span): string {
  if (isLlmCall(span)) return `chat ${span.attributes[attr.responseModel] ?? span.attributes[attr.requestModel] ?? ''}`.trim();
  if (span.name === spanNames.operation) return String(span.attributes[attr.operationLabel] ?? span.name);
  if (span.name === spanNames.reward) return 'reward';
  return span.name;
}

function detail(span: Span): string {
  const value = span.attributes;
  if (isLlmCall(span)) {
    return pc.dim(` ${value[attr.inputTokens] ?? '?'} → ${value[attr.outputTokens] ?? '?'} tokens `) + preview(answerOf(value[attr.outputMessages]));
  }
  if (span.name === spanNames.reward) return ` ${pc.cyan(String(value[attr.rewardValue]))} ${preview(value[attr.rewardReason])}`.trimEnd();
  if (span.name === spanNames.operation) return ` ${preview(value[attr.operationOutput])}`;
  return '';
}

function answerOf(messages: unknown): unknown {
  if (typeof messages !== 'string') return undefined;
  try {
    const parsed = JSON.parse(messages) as { content?: unknown } | { content?: unknown }[];
    return (Array.isArray(parsed) ? parsed.at(-1) : parsed)?.content ?? messages;
  } catch {
    return messages; // not JSON: show it as it is
  }
}

/** The first hundred characters of a text, on one line; empty for anything else. */
export function preview(value: unknown): string {
  if (typeof value !== 'string') return '';
  const flat = printable(value.replace(/\s+/g, ' ').trim());
  return flat.length > 100 ? `${flat.slice(0, 99)}…` : flat;
}
