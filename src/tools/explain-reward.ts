import { z } from 'zod';
import { TrainerError } from '../../trainer/protocol/errors.ts';
import { parseAs } from '../../trainer/protocol/validate.ts';
import { annotationOf } from '../annotations/annotation-book.ts';
import { agentReference } from '../runs/config-file.ts';
import type { CoreServices } from '../services.ts';
import type { RpcClient } from '../trainer/rpc-client.ts';
import { agentOf } from './agents.ts';
import { explanationOf } from './explanation.ts';

const ExplainInput = z.object({ rollout_id: z.string().optional(), agent: z.string().optional() });

/** Why a rollout has the reward it has: the one named, else the latest of an agent. @throws TrainerError */
export async function explainReward(services: CoreServices, input: unknown): Promise<object> {
  const { rollout_id, agent } = parseAs(ExplainInput, input, 'The input');
  if (!services.vscode.workspace.isTrusted) throw new TrainerError('conflict', 'This workspace is not trusted, so its runs are not read.');
  if (rollout_id === undefined && agent === undefined) throw new TrainerError('bad_input', 'Give the id of a rollout, or an agent whose latest rollout is to be explained.');
  const found = rollout_id !== undefined ? await whereIs(services, rollout_id) : await latestOf(services, agent ?? '');
  const id = { rollout_id: found.rollout_id };
  const [{ rollout, spans }, credit] = await Promise.all([found.client.call('trace.get', id), found.client.call('credit.get', id)]);
  return explanationOf(rollout, spans, credit);
}

interface Found { client: RpcClient; rollout_id: string }

async function whereIs({ vscode, workspaces }: CoreServices, rollout_id: string): Promise<Found> {
  for (const { uri } of vscode.workspace.workspaceFolders ?? []) {
    const client = await workspaces.at(uri.fsPath).client();
    try {
      await client.call('attempts.list', { rollout_id });
      return { client, rollout_id };
    } catch (error) {
      if (!(error instanceof TrainerError && error.code === 'not_found')) throw error;
    }
  }
  throw new TrainerError('not_found', `There is no rollout ${rollout_id} in this workspace. Name an agent instead, for its latest one.`);
}

async function latestOf(services: CoreServices, named: string): Promise<Found> {
  const agent = await agentOf(services, named);
  const workspace = services.workspaces.of(agent.file);
  const client = await workspace.client();
  const annotation = annotationOf(await client.call('annotations.get', {}), agentReference(agent.file.fsPath, agent.name, workspace.folder));
  if (annotation === undefined) throw new TrainerError('not_found', `${named} has no finished rollout yet. Dry-run it first.`);
  return { client, rollout_id: annotation.last.rollout_id };
}
