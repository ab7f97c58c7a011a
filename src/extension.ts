import * as vscode from 'vscode';
import { join } from 'node:path';
import { useBundle } from '../trainer/protocol/l10n.ts';
import { agentFileExtensions } from './agents/agent-files.ts';
import { AgentLenses } from './agents/code-lens.ts';
import { createAgentsView } from './agents/agents-view.ts';
import { AgentFinder } from './agents/find-agents.ts';
import { rememberAgents } from './agents/remember.ts';
import { AgentReader } from './agents/scan/agent-reader.ts';
import { AnnotationBook } from './annotations/annotation-book.ts';
import { AnnotationLenses } from './annotations/annotation-lenses.ts';
import { LineDecorations } from './annotations/line-decorations.ts';
import { registerCommands } from './commands.ts';
import { AgentDiagnostics } from './diagnostics/agent-diagnostics.ts';
import { panels, views } from './ids.ts';
import { Log } from './log.ts';
import { HubToken } from './models/hub-token.ts';
import { PromptLenses } from './prompts/prompt-lenses.ts';
import { RunsTree } from './runs/runs-tree.ts';
import type { CoreServices, Services } from './services.ts';
import { registerTasks } from './tasks/register-tasks.ts';
import { createEvaluationTests } from './testing/evaluation-tests.ts';
import { registerTools } from './tools/register-tools.ts';
import { NativePackages } from './trainer/native-packages.ts';
import { explainOnUse, isVirtual } from './unsupported.ts';
import { WrapLenses } from './wrap/wrap-lenses.ts';
import { Workspaces } from './workspaces.ts';

/**
 * Wiring only. Nothing is awaited: scans and a trainer that outlived its window are found in the background. Nothing is loaded that
 * waits for a person or a trainer: schemas, parsers, panels and commands come with their first use, by `import()`.
 */
export function activate(context: vscode.ExtensionContext): void {
  useBundle(vscode.l10n.bundle ?? {});
  if (isVirtual(vscode)) {
    explainOnUse(vscode, context);
    return;
  }
  const log = new Log(vscode);
  const finder = new AgentFinder(vscode, new AgentReader(join(context.extensionPath, 'dist', 'extension', 'agent-worker.cjs')), log);
  const hubToken = new HubToken(context.secrets);
  const workspaces = new Workspaces(vscode, join(context.extensionPath, 'dist', 'trainer', 'cli.js'), new NativePackages(vscode, context, log), hubToken, log);
  const core: CoreServices = { vscode, log, finder, workspaces, hubToken };
  let made: Promise<Services> | undefined;
  const services = (): Promise<Services> => made ??= import('./services.ts').then(({ createServices }) => createServices(core, context));
  const background = (failure: string, work: Promise<unknown>): void => { work.catch((error: unknown) => { log.background(failure, error); }); };

  workspaces.onRunEnded = (workspace, run) => {
    Promise.all([import('./runs/run-ended.ts'), services()]).then(([{ tellRunEnded }, given]) => tellRunEnded(given, workspace, run)).catch((error: unknown) => log.toast(error));
  };
  const hiddenBar = workspaces.onChanged(() => { // until there is a trainer it has nothing to say
    hiddenBar.dispose();
    background('The status bar could not be shown', import('./status-bar.ts').then(({ createStatusBar }) => context.subscriptions.push(createStatusBar(vscode, workspaces))));
  });

  const selector = agentFileExtensions.map((extension) => ({ scheme: 'file', pattern: `**/*.${extension}` }));
  const { languages, window, CodeActionKind } = vscode;
  const annotations = new AnnotationBook(vscode, workspaces, log);
  const diagnostics = new AgentDiagnostics(vscode, log);
  const promptLenses = new PromptLenses(core);
  finder.start();
  context.subscriptions.push(
    log.channel, workspaces, finder, annotations, diagnostics, promptLenses,
    registerCommands(core, services),
    createAgentsView(core),
    createEvaluationTests(core, services), registerTools(core), registerTasks(core),
    new RunsTree(core).register(),
    finder.onChanged(() => { background('The agents could not be noted', rememberAgents(vscode, workspaces, finder.wrapped())); }),
    new LineDecorations(vscode, annotations, context),
    languages.registerCodeLensProvider(selector, new AnnotationLenses(vscode, finder, annotations)), // shown after those registered later
    languages.registerCodeLensProvider(selector, new AgentLenses(vscode, finder)),
    languages.registerCodeLensProvider(selector, new WrapLenses(vscode)),
    languages.registerCodeLensProvider([...selector, { scheme: 'file', pattern: '**/*.{md,txt,j2,jinja,jinja2,prompt}' }], promptLenses),
    languages.registerCodeActionsProvider(selector, diagnostics, { providedCodeActionKinds: [CodeActionKind.QuickFix] }),
    languages.registerCodeActionsProvider(selector, {
      provideCodeActions: async (document, range) => new (await import('./wrap/wrap-actions.ts')).WrapActions(vscode).provideCodeActions(document, range),
    }, { providedCodeActionKinds: [CodeActionKind.RefactorRewrite] }),
    window.registerWebviewViewProvider(views.prompts, { resolveWebviewView: async (view) => { (await services()).prompts.resolve(view); } }),
    window.registerWebviewPanelSerializer(panels.prompts, { deserializeWebviewPanel: async (panel, state) => { (await services()).prompts.restore(panel, state); } }),
    window.registerWebviewPanelSerializer(panels.training, { deserializeWebviewPanel: async (panel, state) => { (await services()).training.restore(panel, state); } }),
    window.registerWebviewPanelSerializer(panels.trace, { deserializeWebviewPanel: async (panel, state) => { background('The trace panel could not be restored', (await services()).trace.restore(panel, state)); } }),
  );
  if (vscode.workspace.isTrusted) background('A running trainer could not be joined', workspaces.attachAll());
}
