import { TrainerError } from '../../trainer/protocol/errors.ts';
import type { WorkspaceAgent } from '../agents/find-agents.ts';
import type { CoreServices } from '../services.ts';

/** How a language model names an agent: `path:name`, the path as seen from the workspace. */
export function toolReference({ vscode }: CoreServices, { file, name }: WorkspaceAgent): string {
  return `${vscode.workspace.asRelativePath(file)}:${name}`;
}

/** The runnable agent that a language model names, by reference or by name alone. @throws TrainerError 'not_found' that lists those there are */
export async function agentOf(services: CoreServices, reference: string): Promise<WorkspaceAgent> {
  await services.finder.quiet();
  const agents = services.finder.wrapped();
  const found = agents.find((agent) => toolReference(services, agent) === reference) ?? agents.find(({ name }) => name === reference);
  if (found !== undefined) return found;
  const known = agents.map((agent) => toolReference(services, agent)).join(', ');
  throw new TrainerError('not_found', `There is no agent "${reference}" in this workspace. ${known === '' ? 'No agent was found at all.' : `There are: ${known}.`}`);
}
