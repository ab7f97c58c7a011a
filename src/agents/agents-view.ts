import type { Disposable, TreeDataProvider, TreeItem } from 'vscode';
import { views } from '../ids.ts';
import { agentReference } from '../runs/config-file.ts';
import type { CoreServices } from '../services.ts';
import type { AgentNode, FolderNode } from './agents-tree.ts';
import type { WorkspaceAgent } from './find-agents.ts';

/** The Agents view: what was found in the workspace, by folder. */
export function createAgentsView({ vscode, finder, workspaces }: CoreServices): Disposable {
  const changed = new vscode.EventEmitter<void>();
  const provider: TreeDataProvider<FolderNode | AgentNode> = {
    onDidChangeTreeData: changed.event,
    getTreeItem: (node) => (node.kind === 'folder' ? folderItem(node) : agentItem(node)),
    async getChildren(node) {
      if (node !== undefined) return node.kind === 'folder' ? node.agents : [];
      await finder.quiet(); // meanwhile the view shows progress, not that there is nothing
      const rewards = await lastRewards();
      const { agentsTree } = await import('./agents-tree.ts');
      return agentsTree(finder.all(), {
        t: (text, ...values) => vscode.l10n.t(text, ...values),
        relative: (file) => vscode.workspace.asRelativePath(file),
        rootLabel: (file) => vscode.workspace.getWorkspaceFolder(file)?.name ?? '/',
        lastReward: (agent) => rewards.get(referenceOf(agent)) ?? null,
      });
    },
  };

  function folderItem({ label, agents }: FolderNode): TreeItem {
    const item = new vscode.TreeItem(label, vscode.TreeItemCollapsibleState.Expanded);
    item.id = label;
    item.iconPath = vscode.ThemeIcon.Folder;
    item.tooltip = agents.length === 1 ? vscode.l10n.t('1 agent') : vscode.l10n.t('{0} agents', agents.length);
    return item;
  }

  function agentItem(node: AgentNode): TreeItem {
    const item = new vscode.TreeItem(node.label);
    item.id = referenceOf(node.agent);
    item.description = node.description;
    item.tooltip = node.tooltip;
    item.iconPath = new vscode.ThemeIcon(node.icon);
    item.contextValue = node.contextValue;
    item.accessibilityInformation = { label: `${node.label}, ${node.description}` };
    const at = new vscode.Position(node.line, 0);
    item.command = { command: 'vscode.open', title: vscode.l10n.t('Open'), arguments: [node.uri, { selection: new vscode.Range(at, at) }] };
    return item;
  }

  function referenceOf(agent: WorkspaceAgent): string {
    return `${folderOf(agent)}\n${agentReference(agent.file.fsPath, agent.name, folderOf(agent))}`;
  }

  function folderOf(agent: WorkspaceAgent): string {
    return vscode.workspace.getWorkspaceFolder(agent.file)?.uri.fsPath ?? '';
  }

  /** From the state of each folder with agents that can have run. It is kept on disk, which an untrusted workspace is not asked for. */
  async function lastRewards(): Promise<Map<string, number>> {
    const rewards = new Map<string, number>();
    if (!vscode.workspace.isTrusted) return rewards;
    for (const folder of new Set(finder.wrapped().map(folderOf))) {
      if (folder === '') continue;
      const state = await workspaces.at(folder).state();
      for (const [agent, { mean }] of Object.entries(state.rewards)) rewards.set(`${folder}\n${agent}`, mean);
    }
    return rewards;
  }

  const view = vscode.window.createTreeView(views.agents, { treeDataProvider: provider, showCollapseAll: true });
  const refresh = (): void => { changed.fire(); };
  return vscode.Disposable.from(view, changed, finder.onChanged(refresh), workspaces.onChanged(refresh), vscode.workspace.onDidGrantWorkspaceTrust(refresh));
}
