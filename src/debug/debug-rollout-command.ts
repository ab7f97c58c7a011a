import { basename } from 'node:path';
import { TrainerError } from '../../trainer/protocol/errors.ts';
import { pickAgent } from '../agents/pick-agent.ts';
import { answerAsks } from '../models/answer-asks.ts';
import { askNumber, chooseTasks } from '../models/choose-tasks.ts';
import { pickModel } from '../models/pick-model.ts';
import { agentReference } from '../runs/config-file.ts';
import { mayRun, saveIfOpen } from '../runs/guards.ts';
import type { Services } from '../services.ts';
import { debugConfiguration } from './debug-configuration.ts';

const mostTasks = 1_000_000;
const pythonDebugger = 'ms-python.debugpy';

/** "Debug Rollout": one task of an agent under the user's debugger. */
export async function debugRollout(services: Services, argument: unknown): Promise<void> {
  const { vscode, finder, workspaces } = services;
  const { l10n } = vscode;
  if (!mayRun(vscode)) return;
  const agent = await pickAgent(vscode, finder, argument);
  if (agent === undefined) return;
  if (agent.file.path.endsWith('.py') && vscode.extensions.getExtension(pythonDebugger) === undefined) {
    throw new TrainerError('environment', l10n.t('Debugging a Python agent needs the extension Python Debugger ({0}). Install it and run the command again.', pythonDebugger));
  }
  const workspace = workspaces.of(agent.file);
  const reference = agentReference(agent.file.fsPath, agent.name, workspace.folder);
  const tasks = await chooseTasks(services, workspace, agent.file.fsPath, reference);
  if (tasks === undefined) return;
  const client = await services.whileStarting(workspace, () => workspace.client());
  const model = tasks.config !== null ? { kind: 'configured' as const } : await pickModel(services, workspace, { configured: null, proceed: l10n.t('Debug with this model') });
  if (model === undefined) return;
  const task = await askNumber(vscode, { title: l10n.t('Which task of {0}? Its number, from 1', basename(tasks.data)), value: 1, most: mostTasks });
  if (task === undefined) return;
  await saveIfOpen(vscode, agent.file.fsPath);
  if (model.kind === 'editor') answerAsks(vscode, client);
  const request = { agent: reference, data: tasks.data, task: task - 1, ...(model.kind === 'configured' ? {} : { model }) };
  const launch = await vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title: l10n.t('Preparing the rollout…') }, () => client.call('debug.prepare', request));
  const started = await vscode.debug.startDebugging(vscode.workspace.getWorkspaceFolder(agent.file), debugConfiguration(launch, l10n.t('Rollout of {0}', agent.name)));
  if (!started) await client.call('runs.cancel', { run_id: launch.run_id });
}
