import type { Uri } from 'vscode';
import type { Services } from '../services.ts';

/** "Open Trace File": a file of OTLP JSON, such as VS Code's own agent debug log, in the trace panel. Runs nothing. */
export async function openTraceFile({ vscode, trace }: Services, argument: unknown): Promise<void> {
  const given = argument instanceof vscode.Uri ? argument : undefined;
  const chosen = given ?? (await vscode.window.showOpenDialog({ title: vscode.l10n.t('Open a trace in OTLP JSON'), filters: { 'OTLP JSON': ['json', 'jsonl', 'otlp'] } }))?.[0];
  if (chosen !== undefined) await trace.openFile(chosen satisfies Uri);
}
