import { t } from '../../trainer/protocol/l10n.ts';
import { attr } from '../../trainer/protocol/span.ts';
import type { AttributeValue, Span } from '../../trainer/protocol/span.ts';
import type { Detail, Section, SpanKind } from '../../trainer/protocol/trace-views.ts';
import { chatMessages } from './chat-messages.ts';
import { clip, shortDuration } from './format.ts';
import { kindOf, numeric, text } from './span-attributes.ts';
import { titleOf } from './span-row.ts';

const kindWords = (): Record<SpanKind, string> => ({ llm: t('LLM call'), operation: t('Operation'), reward: t('Reward'), message: t('Message'), exception: t('Exception'), other: t('Span') });

export interface SpanPlace { file: string; line: number }

/** What was said and done in a span. `byId`: the spans around it; `isRun`: of a run of the trainer, not of a file. */
export function spanDetail(span: Span, byId: ReadonlyMap<string, Span>, isRun: boolean): Detail {
  const kind = kindOf(span);
  const place = sourceOf(span, byId);
  const time = span.end_time === null ? t('still running') : shortDuration(span.end_time - span.start_time);
  return {
    title: titleOf(span, kind),
    facts: [kindWords()[kind], ...(span.status.status_code === 'ERROR' ? [t('failed')] : []), ...(kind === 'reward' ? [String(numeric(span, attr.rewardValue) ?? '')] : [time])].join(' · '),
    sections: sectionsOf(span, kind, isRun),
    source: place === null ? null : `${place.file.split(/[\\/]/).at(-1)}:${place.line}`,
    curl: kind === 'llm' && text(span, attr.inputMessages) !== null,
    replay: isRun && kind === 'llm' && text(span, attr.inputMessages) !== null,
    compare: false,
  };
}

/** The place in the code of a span, else of the nearest span around it. */
export function sourceOf(span: Span, byId: ReadonlyMap<string, Span>): SpanPlace | null {
  const seen = new Set<Span>();
  for (let at: Span | undefined = span; at !== undefined && !seen.has(at); at = at.parent_id === null ? undefined : byId.get(at.parent_id)) {
    seen.add(at);
    const file = text(at, attr.codeFile);
    if (file !== null) return { file, line: numeric(at, attr.codeLine) ?? 1 };
  }
  return null;
}

function sectionsOf(span: Span, kind: SpanKind, isRun: boolean): Section[] {
  const sections: Section[] = [];
  if (span.status.status_code === 'ERROR') {
    sections.push({ kind: 'text', title: t('Error'), tone: 'error', text: clip(span.status.description ?? text(span, attr.errorType) ?? t('The span ended with an error and says no more.')) });
  }
  if (span.attributes[attr.incomplete] === true) {
    sections.push({ kind: 'text', title: t('Incomplete'), tone: 'error', text: t('The stream broke off. This call can be read but is not trained on.') });
  }
  const replay = replayNote(span);
  if (replay !== null) sections.push({ kind: 'text', title: t('Replay'), tone: 'note', text: replay });
  if (kind === 'llm') {
    const system = text(span, 'gen_ai.system_instructions');
    const messages = [...chatMessages(system === null ? null : JSON.stringify({ role: 'system', parts: parsedList(system) })), ...chatMessages(text(span, attr.inputMessages), 'unknown', true), ...chatMessages(text(span, attr.outputMessages), 'assistant')];
    if (messages.length > 0) sections.push({ kind: 'chat', title: t('Conversation'), messages });
    if (isRun && span.status.status_code !== 'ERROR') sections.push({ kind: 'credit' }, { kind: 'tokens' });
    const tools = text(span, attr.toolDefinitions);
    if (tools !== null) sections.push({ kind: 'text', title: t('Tools offered'), tone: 'plain', text: clip(tools) });
  }
  const reason = text(span, attr.rewardReason);
  if (reason !== null) sections.push({ kind: 'text', title: t('Reason'), tone: 'plain', text: clip(reason) });
  if (kind === 'reward' && isRun) sections.push({ kind: 'credit' });
  if (kind === 'message') sections.push({ kind: 'text', title: t('Message'), tone: 'plain', text: clip(text(span, attr.messageBody) ?? '') });
  if (kind === 'exception') {
    sections.push({ kind: 'text', title: text(span, 'exception.type') ?? t('Exception'), tone: 'error', text: clip(text(span, 'exception.stacktrace') ?? text(span, 'exception.message') ?? '') });
  }
  for (const key of [...inputs, ...outputs]) {
    const value = text(span, key);
    if (value !== null) sections.push({ kind: 'text', title: outputs.some((each) => each === key) ? t('Output') : t('Input'), tone: 'plain', text: clip(plainJson(value)) });
  }
  for (const event of span.events) {
    sections.push({ kind: 'fields', title: t('Event {0}', event.name), fields: Object.entries(event.attributes).map(([name, value]) => [name, attributeText(value)]) });
  }
  sections.push({ kind: 'fields', title: t('Attributes'), fields: attributeFields(span) });
  return sections;
}

function replayNote({ attributes }: Span): string | null {
  if (attributes[attr.replayDiverged] === true) return t('Answered from the record, though the agent asked something else than in the recorded attempt.');
  if (attributes[attr.replayed] === true) return t('Taken from the record of the attempt that this one continues; it did not run again.');
  if (attributes[attr.replayEdited] === true) return t('Asked with the edited messages, shown below.');
  return null;
}

const inputs = [attr.operationInput, 'gen_ai.tool.call.arguments'] as const;
const outputs = [attr.operationOutput, 'gen_ai.tool.call.result'] as const;

/** Shown in sections of their own. */
const shownElsewhere = new Set<string>([attr.inputMessages, attr.outputMessages, attr.toolDefinitions, attr.messageBody, attr.rewardReason, 'exception.stacktrace', 'gen_ai.system_instructions', ...inputs, ...outputs]);

function attributeFields(span: Span): [string, string][] {
  const fields = Object.entries(span.attributes).filter(([name]) => !shownElsewhere.has(name)).map(([name, value]): [string, string] => [name, attributeText(value)]);
  return [...fields, [t('span id'), span.span_id]];
}

function attributeText(value: AttributeValue): string {
  if (!Array.isArray(value)) return clip(String(value), 2000);
  return value.length <= 12 ? value.join(', ') : `${value.slice(0, 12).join(', ')} … ${t('{0} values', value.length)}`;
}

/** JSON text of a string as the string; other JSON as it is: the page folds it. */
export function plainJson(value: string): string {
  try {
    const parsed: unknown = JSON.parse(value);
    return typeof parsed === 'string' ? parsed : JSON.stringify(parsed, null, 2);
  } catch {
    return value;
  }
}

function parsedList(value: string): unknown[] {
  try {
    const parsed: unknown = JSON.parse(value);
    if (Array.isArray(parsed)) return parsed;
  } catch {
    // plain text
  }
  return [{ type: 'text', content: value }];
}
