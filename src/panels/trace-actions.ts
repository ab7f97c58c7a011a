import type { QuickPickItem } from 'vscode';
import { TrainerError } from '../../trainer/protocol/errors.ts';
import type { ChatMessage } from '../../trainer/protocol/chat.ts';
import { toOtlp } from '../../trainer/protocol/otlp.ts';
import type { Run } from '../../trainer/protocol/run.ts';
import { attr, isLlmCall } from '../../trainer/protocol/span.ts';
import type { Comparison, FromTrace } from '../../trainer/protocol/trace-views.ts';
import { mayRun } from '../runs/guards.ts';
import type { Services } from '../services.ts';
import { comparisonOf } from '../views/comparison.ts';
import type { Side } from '../views/comparison.ts';
import { curlOf } from '../views/curl.ts';
import { rolloutHead } from '../views/rollout-view.ts';
import { sourceOf } from '../views/span-detail.ts';
import type { TraceBook } from '../views/trace-book.ts';
import type { Following } from './trace-source.ts';

/** Opens the line that made a span, beside the panel. @throws TrainerError when the file is gone */
export async function goToSource({ vscode }: Services, book: TraceBook, rollout_id: string, span_id: string): Promise<void> {
  const span = book.span(rollout_id, span_id);
  const place = span === undefined ? null : sourceOf(span, new Map(book.spans(rollout_id).map((each) => [each.span_id, each])));
  if (place === null) return;
  const position = new vscode.Position(Math.max(0, place.line - 1), 0);
  try {
    await vscode.window.showTextDocument(vscode.Uri.file(place.file), { viewColumn: vscode.ViewColumn.One, selection: new vscode.Range(position, position) });
  } catch (error) {
    throw new TrainerError('not_found', vscode.l10n.t('{0}, where this span was made, cannot be opened.', place.file), { cause: error });
  }
}

export async function copyCurl({ vscode }: Services, book: TraceBook, rollout_id: string, span_id: string): Promise<void> {
  const span = book.span(rollout_id, span_id);
  if (span === undefined) return;
  const address = span.attributes['server.address'];
  await vscode.env.clipboard.writeText(curlOf(span, typeof address === 'string' && address.startsWith('http') ? address : null));
  void vscode.window.setStatusBarMessage(vscode.l10n.t('Copied. Set OPENAI_BASE_URL and OPENAI_API_KEY before you run it.'), 6000);
}

interface Choice extends QuickPickItem { side: () => Promise<Side> }

/** Asks with what to compare: replays and other attempts of the rollout first, then rollouts of the same task, then the others. */
export async function compareWith({ vscode }: Services, book: TraceBook, following: Following | null, rollout_id: string): Promise<Comparison | null> {
  const rollout = book.rollout(rollout_id);
  if (rollout === undefined) return null;
  const sideOf = async (id: string): Promise<Side> => {
    if (book.rows(id) === null) await following?.load(id);
    return { rollout: book.rollout(id) ?? rollout, spans: book.spans(id) };
  };
  const attempts = following === null ? [] : await following.call('attempts.list', { rollout_id });
  const earlier = attempts.filter((attempt) => attempt.attempt_id !== rollout.attempt?.attempt_id).map((attempt): Choice => ({
    label: vscode.l10n.t('Attempt {0}', attempt.sequence_id), description: attempt.error ?? attempt.outcome ?? '',
    side: async () => {
      const trace = await following!.call('trace.get', { rollout_id, attempt_id: attempt.attempt_id });
      return { rollout: { ...rollout, attempt }, spans: trace.spans, label: vscode.l10n.t('Attempt {0}', attempt.sequence_id) };
    },
  }));
  const origin = rolloutHead(rollout, true).replay_of;
  const rank = (id: string): number => {
    const other = book.rollout(id);
    if (other === undefined) return 3;
    if (id === origin || rolloutHead(other, true).replay_of === rollout_id) return 0;
    return other.task_id !== null && other.task_id === rollout.task_id ? 1 : 2;
  };
  const others = book.ids.filter((id) => id !== rollout_id).sort((a, b) => rank(a) - rank(b)).map((id): Choice => {
    const head = rolloutHead(book.rollout(id)!, true);
    return { label: head.title, description: `${head.note}${rank(id) === 1 ? ` · ${vscode.l10n.t('same task')}` : ''}`, side: () => sideOf(id) };
  });
  const choices = [...earlier, ...others];
  if (choices.length === 0) throw new TrainerError('not_found', vscode.l10n.t('There is no other attempt or rollout here to compare with.'));
  const choice = await vscode.window.showQuickPick(choices, { title: vscode.l10n.t('Compare with which attempt?'), matchOnDescription: true });
  return choice === undefined ? null : comparisonOf(await sideOf(rollout_id), await choice.side());
}

/** Writes one rollout, or all that are shown, as OTLP JSON where the user says. */
export async function exportOtlp({ vscode }: Services, book: TraceBook, following: Following | null, rollout_id: string | null): Promise<void> {
  const ids = rollout_id === null ? book.ids : [rollout_id];
  const folder = following?.workspace.folder ?? vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? '';
  const target = await vscode.window.showSaveDialog({ defaultUri: vscode.Uri.joinPath(vscode.Uri.file(folder), `${rollout_id ?? following?.run_id ?? 'trace'}.otlp.json`), filters: { 'OTLP JSON': ['json'] } });
  if (target === undefined) return;
  for (const id of ids) if (book.rows(id) === null) await following?.load(id);
  await vscode.workspace.fs.writeFile(target, new TextEncoder().encode(JSON.stringify(toOtlp(ids.flatMap((id) => book.spans(id))), null, 1)));
  void vscode.window.setStatusBarMessage(vscode.l10n.t('Exported to {0}', target.fsPath), 6000);
}

/** Starts the continuation of a recorded attempt; null: the workspace is not trusted. @throws TrainerError when the trainer refuses */
export async function startReplay({ vscode }: Services, book: TraceBook, following: Following, request: Extract<FromTrace, { type: 'replay' }>): Promise<Run | null> {
  if (!mayRun(vscode)) return null;
  const { rollout_id, span_id } = request;
  const span = book.span(rollout_id, span_id);
  const messages = JSON.parse(String(span?.attributes[attr.inputMessages] ?? '[]')) as ChatMessage[]; // written by our gateway
  const call_index = span?.attributes[attr.callIndex] ?? book.spans(rollout_id).filter(isLlmCall).findIndex((call) => call.span_id === span_id);
  const edits = request.edits.flatMap(({ index, text }) => (messages[index] === undefined ? [] : [{ index, message: { ...messages[index], content: text } }]));
  return following.call('runs.start', { kind: 'dev', replay: { rollout_id, ...(span === undefined ? {} : { attempt_id: span.attempt_id }), call_index: Number(call_index), edits } });
}
