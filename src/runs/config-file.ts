import { existsSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import type { Uri } from 'vscode';
import type { VSCode } from '../vscode.ts';

export const configName = 'agent-trainer.json';

/** The agent-trainer.json nearest above a file, not beyond `root`; null if there is none. */
export function nearestConfig(file: string, root: string): string | null {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const candidate = join(folder, configName);
    if (existsSync(candidate)) return candidate;
    if (folder === root || folder === dirname(folder) || !folder.startsWith(root)) return null;
  }
}

/** Every agent-trainer.json of the workspace that is the user's own. */
export async function findConfigs({ workspace }: VSCode): Promise<Uri[]> {
  const found = await workspace.findFiles(`**/${configName}`, '**/{node_modules,.git,.venv,venv,dist,.agent-trainer}/**');
  return found.sort((a, b) => (a.fsPath < b.fsPath ? -1 : 1));
}

/** `path:name` of an agent as seen from a folder, with forward slashes. */
export function agentReference(file: string, name: string, folder: string): string {
  return `${relative(folder, file).split(sep).join('/')}:${name}`;
}

/** The text of a first configuration for an agent. Paths are relative to the folder it will be in. */
export function newConfig(agent: string, data: string, model: { path: string } | { endpoint: string }): string {
  return `${JSON.stringify({ agent, data: { train: data }, model, grpo: { steps: 30, train_batch_size: 16, group_size: 8 } }, null, 2)}\n`;
}
