import { basename } from 'node:path';
import { pickAgent } from '../agents/pick-agent.ts';
import { agentReference } from '../runs/config-file.ts';
import { mayRun, saveIfOpen } from '../runs/guards.ts';
import type { Services } from '../services.ts';
import { mostEditorTasks } from '../../trainer/protocol/endpoints.ts';
import { answerAsks } from './answer-asks.ts';
import { askNumber, chooseTasks } from './choose-tasks.ts';
import { pickModel } from './pick-model.ts';

const mostTasks = 1000;

/** "Dry Run With…": an agent on as many tasks, and with the model, as the user chooses. */
export async function dryRunWith(services: Services, argument: unknown): Promise<void> {
  const { vscode, finder, workspaces } = services;
  const { l10n } = vscode;
  if (!mayRun(vscode)) return;
  const agent = await pickAgent(vscode, finder, argument);
  if (agent === undefined) return;
  const workspace = workspaces.of(agent.file);
  const reference = agentReference(agent.file.fsPath, agent.name, workspace.folder);
  const tasks = await chooseTasks(services, workspace, agent.file.fsPath, reference);
  if (tasks === undefined) return;
  const client = await services.whileStarting(workspace, () => workspace.client());
  const model = await pickModel(services, workspace, { configured: tasks.config === null ? null : vscode.workspace.asRelativePath(tasks.config), proceed: l10n.t('Dry run with this model') });
  if (model === undefined) return;
  const limit = await askNumber(vscode, { title: l10n.t('How many tasks of {0}?', basename(tasks.data)), value: 5, most: model.kind === 'editor' ? mostEditorTasks : mostTasks });
  if (limit === undefined) return;
  await saveIfOpen(vscode, agent.file.fsPath);
  if (model.kind === 'editor') answerAsks(vscode, client);
  const run = await client.call('runs.start', { kind: 'dev', agent: reference, data: tasks.data, limit, ...(model.kind === 'configured' ? {} : { model }) });
  workspace.book.begin(run);
  await services.trace.show(workspace, run.run_id, null);
}
