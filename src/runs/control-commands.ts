import { t } from '../../trainer/protocol/l10n.ts';
import { TrainerError } from '../../trainer/protocol/errors.ts';
import type { Services } from '../services.ts';
import { modelsAgain } from '../prompts/models-again.ts';
import { isResumable } from '../views/run-header.ts';
import type { Workspace } from '../workspace.ts';
import { mayRun } from './guards.ts';
import { chosenRun } from './pick-run.ts';
import { isActive } from './run-book.ts';
import { showRun } from './show-run.ts';

/** "Pause Run": no new rollout begins; what is under way finishes. */
export async function pauseCommand(services: Services, argument: unknown): Promise<void> {
  const { l10n } = services.vscode;
  const chosen = await chosenRun(services, argument, l10n.t('Pause which run?'), ({ run }) => isActive(run) && (run.pause ?? null) === null, l10n.t('No run is going that could be paused.'));
  if (chosen !== undefined) await pauseRun(chosen.workspace, chosen.run_id);
}

/** "Resume Run": a paused run goes on, an ended training run goes on after its last checkpoint, a search where it was. */
export async function resumeCommand(services: Services, argument: unknown): Promise<void> {
  const { l10n } = services.vscode;
  if (!mayRun(services.vscode)) return;
  const chosen = await chosenRun(services, argument, l10n.t('Resume which run?'), ({ run }) => (isActive(run) ? (run.pause ?? null) !== null : isResumable(run)), l10n.t('No run is paused, and no training run or search ended before its end.'));
  if (chosen !== undefined) await continueRun(services, chosen.workspace, chosen.run_id);
}

/** @throws TrainerError */
export async function pauseRun(workspace: Workspace, run_id: string): Promise<void> {
  workspace.book.put(await (await workspace.client()).call('runs.pause', { run_id }));
}

/** @throws TrainerError */
export async function continueRun(services: Services, workspace: Workspace, run_id: string): Promise<void> {
  if (!mayRun(services.vscode)) return;
  const { run: before } = workspace.book.entries.get(run_id) ?? missing(run_id);
  const ended = !isActive(before);
  const client = await services.whileStarting(workspace, () => workspace.client());
  const run = await client.call('runs.resume', { run_id, models: ended ? await modelsAgain(services, client, before) : undefined });
  if (!ended) workspace.book.put(run); // of one that starts anew, events tell more by now
  else await showRun(services, workspace, run_id);
}

/** @throws TrainerError */
export async function setRunners(workspace: Workspace, run_id: string, n: number): Promise<void> {
  workspace.book.put(await (await workspace.client()).call('runs.set_runners', { run_id, n }));
}

function missing(run_id: string): never {
  throw new TrainerError('not_found', t('Run {0} is not known here any more.', run_id));
}
