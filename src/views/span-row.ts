import { t } from '../../trainer/protocol/l10n.ts';
import { attr } from '../../trainer/protocol/span.ts';
import type { Span } from '../../trainer/protocol/span.ts';
import type { SpanKind, SpanRow } from '../../trainer/protocol/trace-views.ts';
import { number, oneLine } from './format.ts';
import { kindOf, numeric, text } from './span-attributes.ts';

/** A span as one line of the tree. The texts come from the workspace: they are plain text. */
export function spanRow(span: Span): SpanRow {
  const kind = kindOf(span);
  const reason = text(span, attr.rewardReason);
  const title = titleOf(span, kind);
  return {
    span_id: span.span_id, parent_id: span.parent_id, kind, title: reason === null ? title : oneLine(`${title}: ${reason}`), note: noteOf(span, kind),
    failed: span.status.status_code === 'ERROR', agent: text(span, attr.agentName), start: span.start_time, end: span.end_time, order: span.sequence_id,
  };
}

export function titleOf(span: Span, kind: SpanKind): string {
  if (kind === 'llm') return oneLine(text(span, attr.responseModel) ?? text(span, attr.requestModel) ?? span.name);
  if (kind === 'reward') return text(span, attr.rewardName) ?? t('reward');
  if (kind === 'message') return oneLine(text(span, attr.messageBody) ?? t('message'));
  if (kind === 'exception') return oneLine(text(span, 'exception.type') ?? t('exception'));
  return text(span, attr.operationLabel) ?? text(span, 'gen_ai.tool.name') ?? span.name;
}

function noteOf(span: Span, kind: SpanKind): string {
  if (kind === 'reward') return number(numeric(span, attr.rewardValue), 3);
  if (kind === 'exception') return oneLine(text(span, 'exception.message') ?? '');
  if (span.attributes[attr.replayed] === true) return span.attributes[attr.replayDiverged] === true ? t('recorded, asked differently') : t('recorded');
  if (kind !== 'llm') return '';
  const input = numeric(span, attr.inputTokens);
  const output = numeric(span, attr.outputTokens);
  return input === null || output === null ? '' : t('{0} → {1} tokens', input, output);
}
