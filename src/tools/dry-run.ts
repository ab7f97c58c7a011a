import type { CancellationToken } from 'vscode';
import { z } from 'zod';
import { TrainerError } from '../../trainer/protocol/errors.ts';
import type { AttemptedRollout } from '../../trainer/protocol/rollout.ts';
import { DevResult } from '../../trainer/protocol/run.ts';
import { parseAs } from '../../trainer/protocol/validate.ts';
import type { WorkspaceAgent } from '../agents/find-agents.ts';
import { agentReference, nearestConfig } from '../runs/config-file.ts';
import { saveIfOpen } from '../runs/guards.ts';
import { runToEnd } from '../runs/run-to-end.ts';
import { trainingData } from '../runs/training-data.ts';
import type { CoreServices } from '../services.ts';
import type { RpcClient } from '../trainer/rpc-client.ts';
import { answerOf } from '../views/answer.ts';
import { clip } from '../views/format.ts';
import { taskTitle } from '../views/rollout-view.ts';
import { agentOf, toolReference } from './agents.ts';

/** As in the manifest's input schema. */
const mostTasks = 5;
const longestAnswer = 1000;
export const DryRunInput = z.object({ agent: z.string(), tasks: z.number().int().min(1).max(mostTasks).default(3) });

interface Plan { agent: WorkspaceAgent; reference: string; settings: { data: string; policy?: string | undefined } }

/** What a user is asked before the agent runs. @throws TrainerError when it cannot run */
export async function confirmDryRun(services: CoreServices, input: unknown): Promise<{ title: string; message: string }> {
  const { vscode } = services;
  const { agent: named, tasks } = parseAs(DryRunInput, input, 'The input');
  const { agent, settings } = await planOf(services, named);
  const name = toolReference(services, agent);
  return {
    title: vscode.l10n.t('Dry run {0}', name),
    message: vscode.l10n.t('Run {0} on {1} tasks of {2}? This executes code of this workspace and asks the configured model.', name, tasks, vscode.workspace.asRelativePath(settings.data)),
  };
}

/** Runs an agent on a few tasks, as configured near it or as it was run last. @throws TrainerError when it cannot run, or the run fails */
export async function dryRun(services: CoreServices, input: unknown, token: CancellationToken): Promise<object> {
  const { agent: named, tasks } = parseAs(DryRunInput, input, 'The input');
  const { agent, reference, settings } = await planOf(services, named);
  const workspace = services.workspaces.of(agent.file);
  await saveIfOpen(services.vscode, agent.file.fsPath);
  const client = await workspace.supervisor.connect();
  try {
    const run = await runToEnd(client, { kind: 'dev', agent: reference, ...settings, limit: tasks }, { book: workspace.book, token });
    if (run.status === 'cancelled') throw new TrainerError('cancelled', 'The dry run was cancelled.');
    if (run.status !== 'succeeded') throw new TrainerError('agent', `The dry run did not succeed: ${run.error ?? run.status}`);
    const rollouts = await client.call('rollouts.list', { run_id: run.run_id });
    return { run_id: run.run_id, mean_reward: DevResult.parse(run.result).mean_reward, rollouts: await Promise.all(rollouts.map((rollout) => summaryOf(client, rollout))) };
  } finally {
    client.close();
  }
}

async function summaryOf(client: RpcClient, { rollout_id, input, attempt }: AttemptedRollout): Promise<object> {
  const answer = answerOf((await client.call('trace.get', { rollout_id })).spans);
  return { rollout_id, task: taskTitle(input), outcome: attempt?.outcome ?? null, reward: attempt?.reward ?? null, error: attempt?.error ?? null, answer: answer === null ? null : clip(answer, longestAnswer) };
}

async function planOf(services: CoreServices, named: string): Promise<Plan> {
  const { vscode, workspaces } = services;
  if (!vscode.workspace.isTrusted) throw new TrainerError('conflict', 'This workspace is not trusted, so nothing of it is run. The user can trust it with "Workspaces: Manage Workspace Trust".');
  const agent = await agentOf(services, named);
  const workspace = workspaces.of(agent.file);
  const reference = agentReference(agent.file.fsPath, agent.name, workspace.folder);
  const config = nearestConfig(agent.file.fsPath, workspace.folder);
  const data = config === null ? null : await trainingData(config);
  const settings = data !== null ? { data } : (await workspace.state()).lastDryRun(reference);
  if (settings === undefined) throw new TrainerError('bad_input', `It is not known which tasks and model to run ${named} with. Ask the user to write an agent-trainer.json beside it, or to run "Agent Trainer: Dry Run Agent" once.`);
  return { agent, reference, settings };
}
