import type { CancellationToken, TestItem, TestRun } from 'vscode';
import { messageOf } from '../../trainer/protocol/errors.ts';
import { answerAsks } from '../models/answer-asks.ts';
import type { PickedModel } from '../models/pick-model.ts';
import { saveIfOpen } from '../runs/guards.ts';
import { runToEnd } from '../runs/run-to-end.ts';
import type { Services } from '../services.ts';
import type { RpcClient } from '../trainer/rpc-client.ts';
import { Reporter } from './reporter.ts';

/** Tasks of one agent that shall run. `all`: they are all there are. */
export interface ChosenTests { root: TestItem; items: TestItem[]; all: boolean }

/** Runs the tasks as one evaluation and reports each as it ends. Whatever goes wrong is told at the tasks. */
export async function runEvaluation(services: Services, run: TestRun, { root, items, all }: ChosenTests, model: PickedModel, token: CancellationToken): Promise<void> {
  const { vscode, workspaces } = services;
  const reporter = new Reporter(services, run, root, items);
  const workspace = workspaces.of(vscode.Uri.file(root.id));
  let client: RpcClient | null = null;
  try {
    for (const file of [root.id, root.uri?.fsPath, items[0]?.uri?.fsPath]) if (file !== undefined) await saveIfOpen(vscode, file);
    client = await services.whileStarting(workspace, () => workspace.supervisor.connect());
    if (model.kind === 'editor') answerAsks(vscode, client);
    const request = { kind: 'eval' as const, config_path: root.id, ...(all ? {} : { task_ids: items.map(({ id }) => id) }), ...(model.kind === 'configured' ? {} : { model }) };
    const connection = client;
    const ended = await runToEnd(client, request, { book: workspace.book, token, onRollout: (rollout) => { reporter.heard(connection, rollout); } });
    await reporter.finish(client, await client.call('rollouts.list', { run_id: ended.run_id }), ended.error);
  } catch (error) {
    reporter.failRest(messageOf(error));
  } finally {
    client?.close();
  }
}
