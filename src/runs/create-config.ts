import { dirname, join, relative, sep } from 'node:path';
import type { PickedAgent } from '../agents/pick-agent.ts';
import type { Services } from '../services.ts';
import { agentReference, configName, newConfig } from './config-file.ts';
import { modelAmong, modelFiles } from './model-files.ts';
import { pickDataFile } from './pick-data.ts';

/** One is taken; more are looked at to find the nearest. */
const mostModels = 50;

/**
 * Writes a first agent-trainer.json beside the agent and opens it.
 * Returns its path when it is complete enough to train at once, else null: the user fills it in.
 */
export async function createConfig(services: Services, agent: PickedAgent, root: string): Promise<string | null> {
  const { vscode } = services;
  const folder = dirname(agent.file.fsPath);
  const data = await pickDataFile(vscode, folder, root);
  if (data === undefined) return null;
  const from = (path: string): string => relative(folder, path).split(sep).join('/');
  const found = await vscode.workspace.findFiles(new vscode.RelativePattern(folder, modelFiles), '**/{node_modules,.agent-trainer}/**', mostModels);
  const model = modelAmong(found.map(({ fsPath }) => from(fsPath)));
  const text = newConfig(agentReference(agent.file.fsPath, agent.name, folder), from(data), { path: model ?? 'path/of/a/model/folder' });
  const file = vscode.Uri.file(join(folder, configName));
  await vscode.workspace.fs.writeFile(file, new TextEncoder().encode(text));
  await vscode.window.showTextDocument(file, { preview: false });
  if (model !== null) return file.fsPath;
  void vscode.window.showInformationMessage(vscode.l10n.t('Put the model to train under "model": a folder with config.json, model.safetensors and tokenizer.json, a GGUF file, or hf:owner/name of the Hugging Face hub. Then run Train Agent again.'));
  return null;
}
