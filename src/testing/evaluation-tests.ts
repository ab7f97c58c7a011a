import type { Disposable, TestController } from 'vscode';
import type { CoreServices, Services } from '../services.ts';
import type { EvaluationTree } from './evaluation-tree.ts';

/** As in the manifest's menus. */
export const controllerId = 'agentTrainer.evaluation';

/** The Test Explorer's side of evaluations: validation tasks as tests, and the ways to run them. Looks for them when the explorer does. */
export function createEvaluationTests(core: CoreServices, services: () => Promise<Services>): Disposable {
  const { vscode, log } = core;
  const controller: TestController = vscode.tests.createTestController(controllerId, vscode.l10n.t('Agent evaluation'));
  let made: Promise<EvaluationTree> | undefined;
  const tree = (): Promise<EvaluationTree> => made ??= import('./evaluation-tree.ts').then(({ EvaluationTree }) => new EvaluationTree(core, controller));
  controller.resolveHandler = async (item) => (item === undefined ? (await tree()).discover() : (await tree()).resolve(item));
  controller.refreshHandler = async () => (await tree()).discover();

  const profile = (label: string, isDefault: boolean, chooseModel: boolean): Disposable =>
    controller.createRunProfile(label, vscode.TestRunProfileKind.Run, async (request, token) => {
      try {
        const { evaluateTests } = await import('./evaluate-tests.ts');
        await evaluateTests(await services(), { controller, tree: await tree(), request, token, chooseModel });
      } catch (error) {
        void log.toast(error);
      }
    }, isDefault);
  return vscode.Disposable.from(
    controller, { dispose: () => { void made?.then((each) => { each.dispose(); }); } },
    profile(vscode.l10n.t('Evaluate'), true, false),
    profile(vscode.l10n.t('Evaluate with Another Model…'), false, true),
  );
}
