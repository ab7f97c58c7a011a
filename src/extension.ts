import * as vscode from 'vscode';
import { join } from 'node:path';
import { useBundle } from '../trainer/protocol/l10n.ts';
import { agentFileExtensions } from './agents/detect.ts';
import { AgentLenses } from './agents/code-lens.ts';
import { createAgentsView } from './agents/agents-view.ts';
import { AgentFinder } from './agents/find-agents.ts';
import { rememberAgents } from './agents/remember.ts';
import { AgentReader } from './agents/scan/agent-reader.ts';
import { AnnotationBook } from './annotations/annotation-book.ts';
import { AnnotationLenses } from './annotations/annotation-lenses.ts';
import { LineDecorations } from './annotations/line-decorations.ts';
import { showLatestRollout } from './annotations/show-latest-command.ts';
import { debugRollout } from './debug/debug-rollout-command.ts';
import { commands, panels } from './ids.ts';
import { Log } from './log.ts';
import { checkEndpoint } from './models/check-endpoint-command.ts';
import { dryRunWith } from './models/dry-run-with-command.ts';
import { EndpointBook } from './models/endpoints.ts';
import { TracePanel } from './panels/trace-panel.ts';
import { TrainingPanel } from './panels/training-panel.ts';
import { compareRuns } from './runs/compare-command.ts';
import { pauseCommand, resumeCommand } from './runs/control-commands.ts';
import { deleteRun } from './runs/delete-command.ts';
import { exportRun } from './runs/export-command.ts';
import { copyCheckpointPath, openRun, revealCheckpoint } from './runs/open-run-command.ts';
import { RunsTree } from './runs/runs-tree.ts';
import { dryRunAgent } from './runs/dry-run-command.ts';
import { openTrace, openTraining } from './runs/open-commands.ts';
import { openTraceFile } from './runs/open-trace-file.ts';
import { tellRunEnded } from './runs/run-ended.ts';
import { stopRun } from './runs/stop-command.ts';
import { trainAgent } from './runs/train-command.ts';
import type { Services } from './services.ts';
import { createStatusBar } from './status-bar.ts';
import { AgentDiagnostics } from './diagnostics/agent-diagnostics.ts';
import { explainOnUse, isVirtual } from './unsupported.ts';
import { WrapActions } from './wrap/wrap-actions.ts';
import { makeNotTrainable, makeTrainable } from './wrap/wrap-command.ts';
import { WrapLenses } from './wrap/wrap-lenses.ts';
import { previewScheme, WrapPreview } from './wrap/preview.ts';
import { Workspaces } from './workspaces.ts';

/** Wiring only. Nothing is awaited: scans and a trainer that outlived its window are found in the background. */
export function activate(context: vscode.ExtensionContext): void {
  useBundle(vscode.l10n.bundle ?? {});
  if (isVirtual(vscode)) {
    explainOnUse(vscode, context);
    return;
  }
  const log = new Log(vscode);
  const finder = new AgentFinder(vscode, new AgentReader(join(context.extensionPath, 'dist', 'agent-worker.cjs')), log);
  const workspaces = new Workspaces(vscode, join(context.extensionPath, 'dist', 'trainer', 'cli.js'), log);
  const annotations = new AnnotationBook(vscode, workspaces, log);
  const services = { vscode, log, finder, workspaces, endpoints: new EndpointBook(context.secrets, context.globalState) } as Services;
  services.training = new TrainingPanel(services, context.extensionUri);
  services.trace = new TracePanel(services, context.extensionUri);
  services.whileStarting = (workspace, work) => (workspace.supervisor.state.kind === 'ready'
    ? work()
    : vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title: vscode.l10n.t('Starting the trainer…') }, work) as ReturnType<typeof work>);
  workspaces.onRunEnded = (workspace, run) => { tellRunEnded(services, workspace, run).catch((error: unknown) => log.toast(error)); };

  const command = (id: string, work: (services: Services, argument: unknown, selected: unknown) => unknown): vscode.Disposable =>
    vscode.commands.registerCommand(id, async (argument: unknown, selected: unknown) => {
      try {
        await work(services, argument, selected);
      } catch (error) {
        void log.toast(error); // the command has ended, whether its toast was read or not
      }
    });
  const selector = agentFileExtensions.map((extension) => ({ scheme: 'file', pattern: `**/*.${extension}` }));
  const remember = (): void => { rememberAgents(vscode, workspaces, finder.wrapped()).catch((error: unknown) => { log.background('The agents could not be noted', error); }); };

  const preview = new WrapPreview(vscode);
  const diagnostics = new AgentDiagnostics(vscode, log);
  finder.start();
  context.subscriptions.push(
    log.channel, workspaces, finder, finder.onChanged(remember),
    createStatusBar(vscode, workspaces),
    vscode.languages.registerCodeLensProvider(selector, new AnnotationLenses(vscode, annotations)), // shown after those registered later
    vscode.languages.registerCodeLensProvider(selector, new AgentLenses(vscode, finder)),
    annotations, new LineDecorations(vscode, annotations, context),
    command(commands.dryRunWith, dryRunWith),
    command(commands.checkEndpoint, checkEndpoint),
    command(commands.debugRollout, debugRollout),
    command(commands.showLatestRollout, showLatestRollout),
    vscode.languages.registerCodeLensProvider(selector, new WrapLenses(vscode)),
    vscode.languages.registerCodeActionsProvider(selector, new WrapActions(vscode), { providedCodeActionKinds: [vscode.CodeActionKind.RefactorRewrite] }),
    vscode.workspace.registerTextDocumentContentProvider(previewScheme, preview),
    command(commands.makeTrainable, (given, argument) => makeTrainable(given, preview, argument)),
    command(commands.makeNotTrainable, makeNotTrainable),
    diagnostics, vscode.languages.registerCodeActionsProvider(selector, diagnostics, { providedCodeActionKinds: [vscode.CodeActionKind.QuickFix] }),
    command(commands.train, trainAgent),
    command(commands.dryRun, dryRunAgent),
    command(commands.openTraining, openTraining),
    command(commands.openTrace, openTrace),
    command(commands.openTraceFile, openTraceFile),
    command(commands.stopRun, stopRun),
    command(commands.openRun, openRun),
    command(commands.compareRuns, compareRuns),
    command(commands.pauseRun, pauseCommand),
    command(commands.resumeRun, resumeCommand),
    command(commands.exportRun, exportRun),
    command(commands.deleteRun, deleteRun),
    command(commands.revealCheckpoint, revealCheckpoint),
    command(commands.copyCheckpointPath, copyCheckpointPath),
    new RunsTree(services).register(),
    command(commands.refreshAgents, () => finder.scan()),
    command(commands.showLog, () => { log.channel.show(); }),
    createAgentsView(services),
    vscode.window.registerWebviewPanelSerializer(panels.training, { deserializeWebviewPanel: async (panel, state) => { services.training.restore(panel, state); } }),
    vscode.window.registerWebviewPanelSerializer(panels.trace, { deserializeWebviewPanel: (panel, state) => services.trace.restore(panel, state).catch((error: unknown) => { log.background('The trace panel could not be restored', error); }) }),
  );
  if (vscode.workspace.isTrusted) workspaces.attachAll().catch((error: unknown) => { log.background('A running trainer could not be joined', error); });
}
