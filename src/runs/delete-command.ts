import type { Services } from '../services.ts';
import { runTitle } from '../views/charts-view.ts';
import { chosenRun } from './pick-run.ts';
import { isActive } from './run-book.ts';
import { runsOf } from './run-nodes.ts';

/** "Delete Run": removes ended runs with their traces and checkpoints, after a question. */
export async function deleteRun(services: Services, argument: unknown, selected: unknown): Promise<void> {
  const { l10n, window } = services.vscode;
  const nodes = runsOf(selected);
  const several = nodes.length > 1 ? nodes.map((node) => ({ workspace: services.workspaces.at(node.folder), run_id: node.run_id })) : [];
  const one = several.length > 0 ? undefined : await chosenRun(services, argument, l10n.t('Delete which run?'), ({ run }) => !isActive(run), l10n.t('There is no run to delete.'));
  const chosen = one === undefined ? several : [one];
  if (chosen.length === 0) return;
  const [first] = chosen;
  const entry = first?.workspace.book.entries.get(first.run_id);
  const question = chosen.length === 1 && entry !== undefined ? l10n.t('Delete the run {0}?', runTitle(entry.run)) : l10n.t('Delete {0} runs?', chosen.length);
  const yes = l10n.t('Delete');
  const answer = await window.showWarningMessage(question, { modal: true, detail: l10n.t('Its record, traces and checkpoints are removed from this machine. This cannot be undone.') }, yes);
  if (answer !== yes) return;
  for (const { workspace, run_id } of chosen) await (await workspace.client()).call('runs.delete', { run_id });
}
