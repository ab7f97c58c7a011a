import { dirname, join, relative, sep } from 'node:path';
import type { PickedAgent } from '../agents/pick-agent.ts';
import type { Services } from '../services.ts';
import { agentReference, configName, newConfig } from './config-file.ts';
import { pickDataFile } from './pick-data.ts';

/**
 * Writes a first agent-trainer.json beside the agent and opens it.
 * Returns its path when it is complete enough to train at once, else null: the user fills it in.
 */
export async function createConfig(services: Services, agent: PickedAgent, root: string): Promise<string | null> {
  const { vscode } = services;
  const folder = dirname(agent.file.fsPath);
  const data = await pickDataFile(vscode, folder, root);
  if (data === undefined) return null;
  const model = await findModelFolder(vscode, folder);
  const from = (path: string): string => relative(folder, path).split(sep).join('/');
  const text = newConfig(agentReference(agent.file.fsPath, agent.name, folder), from(data), { path: model === null ? 'path/of/a/model/folder' : from(model) });
  const file = vscode.Uri.file(join(folder, configName));
  await vscode.workspace.fs.writeFile(file, new TextEncoder().encode(text));
  await vscode.window.showTextDocument(file, { preview: false });
  if (model !== null) return file.fsPath;
  void vscode.window.showInformationMessage(vscode.l10n.t('Put the folder of the model to train (config.json, model.safetensors, tokenizer.json) under "model", then run Train Agent again.'));
  return null;
}

/** A folder in Hugging Face layout near the agent. */
async function findModelFolder(vscode: Services['vscode'], folder: string): Promise<string | null> {
  const weights = await vscode.workspace.findFiles(new vscode.RelativePattern(folder, '**/model.safetensors'), '**/{node_modules,.agent-trainer}/**', 1);
  return weights[0] === undefined ? null : dirname(weights[0].fsPath);
}
