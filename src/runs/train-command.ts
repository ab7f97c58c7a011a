import { dirname } from 'node:path';
import { pickAgent } from '../agents/pick-agent.ts';
import type { PickedAgent } from '../agents/pick-agent.ts';
import type { Services } from '../services.ts';
import { agentReference, nearestConfig } from './config-file.ts';
import { createConfig } from './create-config.ts';
import { mayRun, saveIfOpen } from './guards.ts';

/** "Train Agent": starts a training run of an agent by the nearest agent-trainer.json, and shows it. */
export async function trainAgent(services: Services, argument: unknown): Promise<void> {
  const { vscode, finder, workspaces } = services;
  if (!mayRun(vscode)) return;
  const agent = await pickAgent(vscode, finder, argument);
  if (agent === undefined) return;
  const workspace = workspaces.of(agent.file);
  const config = nearestConfig(agent.file.fsPath, workspace.folder) ?? await offerConfig(services, agent, workspace.folder);
  if (config === null) return;
  await saveIfOpen(vscode, agent.file.fsPath);
  await saveIfOpen(vscode, config);
  const client = await services.whileStarting(workspace, () => workspace.client());
  // The file may name another agent of its folder: the one the user pointed at is trained.
  const overrides = { agent: agentReference(agent.file.fsPath, agent.name, dirname(config)) };
  const run = await client.call('runs.start', { kind: 'train', config_path: config, overrides });
  workspace.book.begin(run);
  services.training.show(workspace, run.run_id);
}

/** null: there is none yet; the user fills in the new one first, or did not want it. */
async function offerConfig(services: Services, agent: PickedAgent, folder: string): Promise<string | null> {
  const { l10n, window } = services.vscode;
  const create = l10n.t('Create');
  const choice = await window.showInformationMessage(l10n.t('Training needs a configuration: the tasks to learn from and the model to train. There is no agent-trainer.json near this agent yet.'), create);
  return choice === create ? createConfig(services, agent, folder) : null;
}
