import { reasonText } from '../agents/reason.ts';
import { agentReference } from '../runs/config-file.ts';
import type { CoreServices } from '../services.ts';
import { toolReference } from './agents.ts';

/** The agents of the workspace and the functions that could become one. */
export async function listAgents(services: CoreServices): Promise<object> {
  const { vscode, finder, workspaces } = services;
  await finder.quiet();
  const agents = await Promise.all(finder.all().map(async (agent) => {
    const { kind, framework, line, reason, file, name } = agent;
    const workspace = workspaces.of(file);
    const rewards = kind === 'wrapped' && vscode.workspace.isTrusted ? (await workspace.state()).rewards : {};
    return {
      agent: toolReference(services, agent), can_run: kind === 'wrapped', framework, line: line + 1, found_by: reasonText(reason),
      last_mean_reward: rewards[agentReference(file.fsPath, name, workspace.folder)]?.mean ?? null,
    };
  }));
  return { agents, note: 'Those with can_run false call a model but are not wrapped yet: the command "Make Function Trainable" wraps them.' };
}
