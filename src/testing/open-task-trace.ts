import type { TestItem, Uri } from 'vscode';
import { z } from 'zod';
import { TrainerError } from '../../trainer/protocol/errors.ts';
import type { Run } from '../../trainer/protocol/run.ts';
import { mayRun } from '../runs/guards.ts';
import type { Services } from '../services.ts';
import type { Workspace } from '../workspace.ts';
import { rolloutOf } from './rollout-context.ts';

interface Message { contextValue?: string; location?: { uri: Uri } }
type Argument = TestItem | { test?: TestItem; message: Message };

const Evaluated = z.looseObject({ request: z.looseObject({ config_path: z.string().optional() }) });

/** "Open Trace" of a test: the rollout that a message is about, else the latest of the task, or of the agent. */
export async function openTaskTrace(services: Services, argument: unknown): Promise<void> {
  const { vscode, workspaces } = services;
  if (typeof argument !== 'object' || argument === null || !mayRun(vscode)) return;
  const { test, message } = partsOf(argument as Argument); // VS Code's own objects
  const root = test?.parent ?? test;
  const file = root === undefined ? message?.location?.uri : vscode.Uri.file(root.id);
  if (file === undefined) return;
  const workspace = workspaces.of(file);
  await services.whileStarting(workspace, () => workspace.client());
  const rollout = rolloutOf(message?.contextValue) ?? (test === undefined ? null : await latestOf(workspace, test));
  if (rollout === null) throw new TrainerError('not_found', vscode.l10n.t('There is no evaluation of this yet. Run it first.'));
  await services.trace.show(workspace, rollout.run_id, rollout.rollout_id);
}

function partsOf(argument: Argument): { test: TestItem | undefined; message: Message | undefined } {
  return 'message' in argument ? { test: argument.test, message: argument.message } : { test: argument, message: undefined };
}

async function latestOf(workspace: Workspace, test: TestItem): Promise<{ run_id: string; rollout_id: string | null } | null> {
  const client = await workspace.client();
  const config = test.parent?.id ?? test.id;
  for (const { run } of workspace.book.list()) {
    if (configOf(run) !== config) continue;
    if (test.parent === undefined) return { run_id: run.run_id, rollout_id: null };
    const rollout = (await client.call('rollouts.list', { run_id: run.run_id })).findLast(({ task_id }) => task_id === test.id);
    if (rollout !== undefined) return { run_id: run.run_id, rollout_id: rollout.rollout_id };
  }
  return null;
}

function configOf({ kind, config }: Run): string | undefined {
  return kind === 'eval' ? Evaluated.safeParse(config).data?.request.config_path : undefined;
}
