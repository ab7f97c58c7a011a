import { TrainerError } from '../../trainer/protocol/errors.ts';
import { pickAgent } from '../agents/pick-agent.ts';
import { agentReference } from '../runs/config-file.ts';
import { mayRun } from '../runs/guards.ts';
import type { Services } from '../services.ts';
import { annotationOf } from './annotation-book.ts';

/** "Show Latest Rollout": of an agent, in the trace panel. */
export async function showLatestRollout(services: Services, argument: unknown): Promise<void> {
  const { vscode, finder, workspaces } = services;
  if (!mayRun(vscode)) return;
  const agent = await pickAgent(vscode, finder, argument);
  if (agent === undefined) return;
  const workspace = workspaces.of(agent.file);
  const client = await services.whileStarting(workspace, () => workspace.client());
  const annotation = annotationOf(await client.call('annotations.get', {}), agentReference(agent.file.fsPath, agent.name, workspace.folder));
  if (annotation === undefined) throw new TrainerError('not_found', vscode.l10n.t('{0} has no finished rollout yet. Start a dry run of it first.', agent.name));
  await services.trace.show(workspace, annotation.last.run_id, annotation.last.rollout_id);
}
