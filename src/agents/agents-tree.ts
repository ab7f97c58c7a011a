import { number } from '../views/format.ts';
import type { WorkspaceAgent } from './find-agents.ts';
import { reasonText } from './reason.ts';

type Translate = (text: string, ...values: (string | number)[]) => string;

/** A folder that holds agents, in the Agents view. */
export interface FolderNode { kind: 'folder'; label: string; agents: AgentNode[] }

/** An agent in the Agents view; what its actions are given. `file` and `name` are what running takes, `uri`, `line` and `name` what wrapping takes. */
export interface AgentNode {
  kind: 'agent';
  agent: WorkspaceAgent;
  uri: WorkspaceAgent['file'];
  file: string;
  name: string;
  line: number;
  label: string;
  description: string;
  tooltip: string;
  icon: 'rocket' | 'circle-outline';
  /** For the manifest's `when` clauses. */
  contextValue: 'agent.wrapped' | 'agent.candidate';
}

export interface TreeTexts {
  t: Translate;
  /** A file as seen from the workspace, with forward slashes. */
  relative: (file: WorkspaceAgent['file']) => string;
  /** What files of no subfolder are listed under. */
  rootLabel: (file: WorkspaceAgent['file']) => string;
  /** The mean reward of the agent's last run; null when there was none. */
  lastReward: (agent: WorkspaceAgent) => number | null;
}

/** Agents by folder, each with how it reaches its model, its last reward and why it was found. */
export function agentsTree(agents: WorkspaceAgent[], texts: TreeTexts): FolderNode[] {
  const folders = new Map<string, FolderNode>();
  for (const agent of agents) {
    const path = texts.relative(agent.file);
    const cut = path.lastIndexOf('/');
    const label = cut === -1 ? texts.rootLabel(agent.file) : path.slice(0, cut);
    const folder: FolderNode = folders.get(label) ?? { kind: 'folder', label, agents: [] };
    folders.set(label, folder);
    folder.agents.push(agentNode(agent, path.slice(cut + 1), texts));
  }
  return [...folders.values()].sort((a, b) => a.label.localeCompare(b.label));
}

function agentNode(agent: WorkspaceAgent, fileName: string, { t, lastReward }: TreeTexts): AgentNode {
  const reward = lastReward(agent);
  const isWrapped = agent.kind === 'wrapped';
  const label = agent.name === 'default' ? t('default export') : agent.name;
  const tooltip = [
    isWrapped ? t('{0} can be run and trained: {1}', label, reasonText(agent.reason, t)) : t('{0} may be an agent: {1}', label, reasonText(agent.reason, t)),
    t('Framework: {0}', agent.framework),
    ...(reward === null ? [] : [t('Mean reward of the last run: {0}', number(reward, 3))]),
    ...(isWrapped ? [] : [t('Make it trainable to run and train it.')]),
  ].join('\n');
  return {
    kind: 'agent', agent, uri: agent.file, file: agent.file.fsPath, name: agent.name, line: agent.line, label,
    description: [agent.framework, ...(reward === null ? [] : [t('reward {0}', number(reward, 2))]), fileName].join(' · '),
    tooltip, icon: isWrapped ? 'rocket' : 'circle-outline', contextValue: `agent.${agent.kind}`,
  };
}
