import { TrainerError } from '../../trainer/protocol/errors.ts';
import { pickAgent } from '../agents/pick-agent.ts';
import type { Services } from '../services.ts';
import type { Workspace } from '../workspace.ts';
import { agentReference, nearestConfig } from './config-file.ts';
import { mayRun, saveIfOpen } from './guards.ts';
import { pickDataFile } from './pick-data.ts';
import { trainingData } from './training-data.ts';

const tasksOfADryRun = 10;

/** "Dry Run Agent": runs an agent on a few tasks and shows every span as it arrives. */
export async function dryRunAgent(services: Services, argument: unknown): Promise<void> {
  const { vscode, finder, workspaces } = services;
  if (!mayRun(vscode)) return;
  const agent = await pickAgent(vscode, finder, argument);
  if (agent === undefined) return;
  const workspace = workspaces.of(agent.file);
  const reference = agentReference(agent.file.fsPath, agent.name, workspace.folder);
  const settings = await chooseSettings(services, workspace, agent.file.fsPath, reference);
  if (settings === undefined) return;
  await saveIfOpen(vscode, agent.file.fsPath);
  const client = await services.whileStarting(workspace, () => workspace.client());
  const run = await client.call('runs.start', { kind: 'dev', agent: reference, ...settings, limit: tasksOfADryRun });
  await (await workspace.state()).rememberDryRun(reference, settings);
  workspace.book.begin(run);
  await services.trace.show(workspace, run.run_id, null);
}

/** The tasks and, without a configuration nearby, the endpoint: as configured, else as last time, else asked for. */
async function chooseSettings(services: Services, workspace: Workspace, file: string, reference: string): Promise<{ data: string; policy?: string } | undefined> {
  const { vscode } = services;
  const config = nearestConfig(file, workspace.folder);
  const configured = config === null ? null : await trainingData(config);
  if (config !== null && configured !== null) return { data: configured };
  const last = (await workspace.state()).lastDryRun(reference);
  const data = last?.data ?? await pickDataFile(vscode, vscode.Uri.joinPath(vscode.Uri.file(file), '..').fsPath, workspace.folder);
  if (data === undefined) return undefined;
  if (config !== null) return { data };
  const policy = await askForEndpoint(vscode, last?.policy);
  return policy === undefined ? undefined : { data, policy };
}

async function askForEndpoint(vscode: Services['vscode'], last: string | undefined): Promise<string | undefined> {
  const { l10n, window } = vscode;
  const answer = await window.showInputBox({
    title: l10n.t('Which model should answer the agent?'),
    prompt: l10n.t('The URL of an OpenAI-compatible server, or the folder of a local model'),
    placeHolder: 'http://127.0.0.1:8000/v1',
    value: last ?? '',
    ignoreFocusOut: true,
  });
  if (answer?.trim() === '') throw new TrainerError('bad_input', l10n.t('A dry run needs a model. Name a server or a folder, or put one into an agent-trainer.json beside the agent.'));
  return answer?.trim();
}
