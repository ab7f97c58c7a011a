import type { CancellationToken, TestController, TestItem, TestRunRequest } from 'vscode';
import { TrainerError } from '../../trainer/protocol/errors.ts';
import { pickModel } from '../models/pick-model.ts';
import type { PickedModel } from '../models/pick-model.ts';
import { mayRun } from '../runs/guards.ts';
import type { Services } from '../services.ts';
import type { EvaluationTree } from './evaluation-tree.ts';
import { runEvaluation } from './run-evaluation.ts';
import type { ChosenTests } from './run-evaluation.ts';

interface Asked {
  controller: TestController;
  tree: EvaluationTree;
  request: TestRunRequest;
  token: CancellationToken;
  /** Ask for a model, instead of taking the configured one. */
  chooseModel: boolean;
}

/** Evaluates the tasks that a request of the Test Explorer names, one agent after another. */
export async function evaluateTests(services: Services, { controller, tree, request, token, chooseModel }: Asked): Promise<void> {
  const { vscode } = services;
  if (!mayRun(vscode)) return;
  const chosen = await chosenTests(services, controller, tree, request);
  const model = chooseModel ? await modelFor(services, chosen) : { kind: 'configured' as const };
  if (model === undefined) return;
  const run = controller.createTestRun(request, vscode.l10n.t('Evaluation'));
  try {
    for (const each of chosen) await runEvaluation(services, run, each, model, token);
  } finally {
    run.end();
  }
}

async function modelFor(services: Services, [first]: ChosenTests[]): Promise<PickedModel | undefined> {
  if (first === undefined) return undefined;
  const { vscode, workspaces } = services;
  const config = vscode.Uri.file(first.root.id);
  return pickModel(services, workspaces.of(config), { configured: vscode.workspace.asRelativePath(config), proceed: vscode.l10n.t('Evaluate with this model') });
}

/** The tasks of a request by agent. Those of an agent that was never opened are listed first. */
async function chosenTests({ log }: Services, controller: TestController, tree: EvaluationTree, { include, exclude }: TestRunRequest): Promise<ChosenTests[]> {
  const included = include ?? [...controller.items].map(([, root]) => root);
  const excluded = new Set(exclude);
  const byRoot = new Map<TestItem, Set<TestItem>>();
  for (const item of included) {
    const root = item.parent ?? item;
    if (excluded.has(root)) continue;
    if (item === root && root.children.size === 0) {
      await tree.resolve(root, { mayAsk: true });
      if (typeof root.error === 'string') void log.toast(new TrainerError('bad_input', root.error));
    }
    const wanted = item === root ? [...root.children].map(([, child]) => child) : [item];
    byRoot.set(root, new Set([...byRoot.get(root) ?? [], ...wanted]));
  }
  return [...byRoot].map(([root, wanted]) => {
    const items = [...wanted].filter((item) => !excluded.has(item));
    return { root, items, all: items.length === root.children.size };
  }).filter(({ items }) => items.length > 0);
}
