import type { AttemptedRollout } from '../../trainer/protocol/rollout.ts';
import { attr } from '../../trainer/protocol/span.ts';
import type { Span } from '../../trainer/protocol/span.ts';
import type { ComparedSpan, Comparison } from '../../trainer/protocol/trace-views.ts';
import { chatMessages } from './chat-messages.ts';
import { clip } from './format.ts';
import { rolloutHead } from './rollout-view.ts';
import { text } from './span-attributes.ts';
import { plainJson } from './span-detail.ts';
import { spanRow } from './span-row.ts';

export interface Side { rollout: AttemptedRollout; spans: readonly Span[]; label?: string }

/** Two attempts step by step, aligned by the longest common sequence of steps of the same kind and name. */
export function comparisonOf(left: Side, right: Side): Comparison {
  const [a, b] = [stepsOf(left.spans), stepsOf(right.spans)];
  return { left: headOf(left), right: headOf(right), rows: aligned(a, b) };
}

function headOf({ rollout, label }: Side): { title: string; note: string } {
  const head = rolloutHead(rollout, true);
  return { title: label ?? head.title, note: `${head.note} · ${rollout.rollout_id}` };
}

/** In the order they began, parents before children. */
function stepsOf(spans: readonly Span[]): ComparedSpan[] {
  const ids = new Map(spans.map((span) => [span.span_id, span]));
  const levelOf = (span: Span): number => {
    let level = 0;
    for (let at = span.parent_id; at !== null && level < 50; at = ids.get(at)?.parent_id ?? null) if (ids.has(at)) level++;
    return level;
  };
  return [...spans].sort((x, y) => x.start_time - y.start_time || x.sequence_id - y.sequence_id).map((span) => {
    const { kind, title, note, failed } = spanRow(span);
    return { kind, title, note, failed, level: levelOf(span), text: clip(saidIn(span), 6000) };
  });
}

/** What a step came to: the answer of a call, the output of an operation, the value of a reward. */
function saidIn(span: Span): string {
  const failure = span.status.status_code === 'ERROR' ? [span.status.description ?? 'failed'] : [];
  const answer = chatMessages(text(span, attr.outputMessages), 'assistant').map((message) => [message.text, ...message.calls.map((call) => `${call.name}(${call.arguments})`)].filter((part) => part !== '').join('\n'));
  const asked = chatMessages(text(span, attr.inputMessages)).at(-1);
  const output = text(span, attr.operationOutput);
  return [...failure, ...(asked === undefined ? [] : [`${asked.role}: ${asked.text}`]), ...answer.map((said) => `assistant: ${said}`), ...(output === null ? [] : [plainJson(output)]), text(span, attr.messageBody) ?? ''].filter((part) => part !== '').join('\n\n');
}

const mostSteps = 1500;

function aligned(a: ComparedSpan[], b: ComparedSpan[]): Comparison['rows'] {
  const same = (x: ComparedSpan, y: ComparedSpan): boolean => x.kind === y.kind && x.title === y.title;
  // The table has a cell for each pair: longer attempts are aligned by place.
  if (a.length > mostSteps || b.length > mostSteps) {
    return Array.from({ length: Math.max(a.length, b.length) }, (_, i) => row(a[i] ?? null, b[i] ?? null));
  }
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) lengths[i]![j] = same(a[i]!, b[j]!) ? lengths[i + 1]![j + 1]! + 1 : Math.max(lengths[i + 1]![j]!, lengths[i]![j + 1]!);
  }
  const rows: Comparison['rows'] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && same(a[i]!, b[j]!)) rows.push(row(a[i++]!, b[j++]!));
    else if (j >= b.length || (i < a.length && lengths[i + 1]![j]! >= lengths[i]![j + 1]!)) rows.push(row(a[i++]!, null));
    else rows.push(row(null, b[j++]!));
  }
  return rows;
}

/** Rewards say themselves in their note; token counts of a call need not agree. */
function row(left: ComparedSpan | null, right: ComparedSpan | null): Comparison['rows'][number] {
  const same = left !== null && right !== null && left.text === right.text && left.failed === right.failed && (left.kind !== 'reward' || left.note === right.note);
  return { left, right, same };
}
