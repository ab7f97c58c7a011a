import { agentReference } from '../runs/config-file.ts';
import type { VSCode } from '../vscode.ts';
import type { Workspaces } from '../workspaces.ts';
import type { WorkspaceAgent } from './find-agents.ts';

/** Notes the agents of each workspace folder in its workspace.json. Folders without agents are left untouched, and so are untrusted ones. */
export async function rememberAgents(vscode: VSCode, workspaces: Workspaces, agents: WorkspaceAgent[]): Promise<void> {
  if (!vscode.workspace.isTrusted) return;
  const byFolder = new Map<string, string[]>();
  for (const { file, name } of agents) {
    const folder = vscode.workspace.getWorkspaceFolder(file)?.uri.fsPath;
    if (folder !== undefined) byFolder.set(folder, [...(byFolder.get(folder) ?? []), agentReference(file.fsPath, name, folder)]);
  }
  for (const [folder, references] of byFolder) await (await workspaces.at(folder).state()).rememberAgents(references);
}
