import { TrainerError } from '../../trainer/protocol/errors.ts';
import type { Services } from '../services.ts';
import { runTitle } from '../views/charts-view.ts';
import { statusText } from '../views/run-header.ts';
import type { Workspace } from '../workspace.ts';
import type { RunEntry } from './run-book.ts';
import { runOf } from './run-nodes.ts';

export interface ChosenRun { workspace: Workspace; run_id: string }

/** The run a command is about: that of the tree's node, else one the user chooses among those that fit. @throws TrainerError 'not_found' when none fits */
export async function chosenRun(services: Services, argument: unknown, title: string, fits: (entry: RunEntry) => boolean, none: string): Promise<ChosenRun | undefined> {
  const node = runOf(argument);
  if (node !== null) return { workspace: services.workspaces.at(node.folder), run_id: node.run_id };
  const runs = (await knownRuns(services)).filter(({ entry }) => fits(entry));
  if (runs.length === 0) throw new TrainerError('not_found', none);
  const items = runs.map(({ workspace, entry: { run } }) => ({ label: runTitle(run), description: statusText(run), detail: run.run_id, workspace, run_id: run.run_id }));
  return items.length === 1 ? items[0] : services.vscode.window.showQuickPick(items, { title, matchOnDetail: true });
}

/** Every run of the window's workspaces. Starts their trainers if the workspace is trusted. */
export async function knownRuns({ vscode, workspaces }: Services): Promise<{ workspace: Workspace; entry: RunEntry }[]> {
  await workspaces.attachAll();
  if (vscode.workspace.isTrusted) await workspaces.readRuns();
  return workspaces.all().flatMap((workspace) => workspace.book.list().map((entry) => ({ workspace, entry })));
}
