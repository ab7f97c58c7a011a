import type { Services } from '../services.ts';
import { TrainerError } from '../../trainer/protocol/errors.ts';
import { runTitle } from '../views/charts-view.ts';
import { number } from '../views/format.ts';
import { statusText } from '../views/run-header.ts';
import type { VSCode } from '../vscode.ts';
import type { Workspace } from '../workspace.ts';
import { chosenRun } from './pick-run.ts';
import { runOf, runsOf } from './run-nodes.ts';

/** More lines than these are not told apart. */
export const mostCompared = 5;

/** "Compare Runs": the training runs selected in the tree, or those the user chooses, on the same charts. */
export async function compareRuns(services: Services, argument: unknown, selected: unknown): Promise<void> {
  const { vscode } = services;
  const clicked = runOf(argument);
  const nodes = [...runsOf(selected), ...(clicked === null ? [] : [clicked])].filter((node, index, all) => node.kind === 'train' && all.findIndex(({ run_id }) => run_id === node.run_id) === index);
  const first = await chosenRun(services, nodes[0], vscode.l10n.t('Which run first?'), ({ run }) => run.kind === 'train', vscode.l10n.t('There is no training run to compare yet.'));
  if (first === undefined) return;
  const others = nodes.slice(1).filter((node) => node.folder === first.workspace.folder).map((node) => node.run_id).slice(0, mostCompared);
  const compared = others.length > 0 ? others : await chooseComparison(vscode, first.workspace, first.run_id, []);
  if (compared !== undefined) services.training.show(first.workspace, first.run_id, compared);
}

/** Training runs of the workspace to draw beside `run_id`. undefined: the user changed nothing. @throws TrainerError 'not_found' */
export async function chooseComparison(vscode: VSCode, workspace: Workspace, run_id: string, compared: readonly string[]): Promise<string[] | undefined> {
  const others = workspace.book.list().filter(({ run }) => run.kind === 'train' && run.run_id !== run_id);
  if (others.length === 0) throw new TrainerError('not_found', vscode.l10n.t('There is no other training run in this workspace to compare with.'));
  const items = others.map(({ run, steps }) => ({
    label: runTitle(run), description: [statusText(run), ...(steps.length === 0 ? [] : [vscode.l10n.t('reward {0}', number(steps.at(-1)?.reward_mean ?? null, 3))])].join(' · '),
    detail: run.run_id, run_id: run.run_id, picked: compared.includes(run.run_id),
  }));
  const chosen = await vscode.window.showQuickPick(items, { title: vscode.l10n.t('Compare with which runs?'), placeHolder: vscode.l10n.t('Up to {0}', mostCompared), canPickMany: true });
  return chosen?.slice(0, mostCompared).map((item) => item.run_id);
}
