import type { Run } from '../../trainer/protocol/run.ts';
import type { Services } from '../services.ts';
import { emptyTrainingView, trainingView } from '../views/training-view.ts';
import { runHeader } from '../views/run-header.ts';
import { commands } from '../ids.ts';
import { searchOutcome } from '../views/prompts/search-result.ts';
import type { Workspace } from '../workspace.ts';
import { showRun } from './show-run.ts';

/** Tells how a run ended, if it did not end by the user's own hand: training takes long, one looks elsewhere meanwhile. */
export async function tellRunEnded(services: Services, workspace: Workspace, run: Run): Promise<void> {
  const { l10n, window } = services.vscode;
  const { title, error } = runHeader(run);
  const open = l10n.t('Open');
  let choice: string | undefined;
  if (run.status === 'failed' || run.status === 'interrupted') {
    services.log.warn(`${title} ended as ${run.status}: ${error ?? 'no reason given'}`);
    const setToken = l10n.t('Set Hugging Face Token…');
    choice = await window.showErrorMessage(`${title}: ${error ?? l10n.t('it ended without a reason')}`, ...(run.error_code === 'hub_access' ? [setToken] : []), open);
    if (choice === setToken) await services.vscode.commands.executeCommand(commands.setHubToken);
  } else if (run.status === 'succeeded' && run.kind === 'train') {
    const entry = workspace.book.entries.get(run.run_id);
    const [result] = entry === undefined ? emptyTrainingView.facts : trainingView(entry, run.end_time ?? 0).facts;
    choice = await window.showInformationMessage(l10n.t('{0} has finished. {1}', title, result === undefined ? '' : `${result.label}: ${result.value}`), open);
  } else if (run.status === 'succeeded' && run.kind === 'optimize') {
    choice = await window.showInformationMessage(l10n.t('{0} has finished. {1}', title, searchOutcome(run)), open);
  }
  if (choice === open) await showRun(services, workspace, run.run_id);
}
