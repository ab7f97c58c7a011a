import * as vscode from 'vscode';
import { join } from 'node:path';
import { agentFileExtensions } from './agents/detect.ts';
import { AgentLenses } from './agents/code-lens.ts';
import { AgentFinder } from './agents/find-agents.ts';
import { rememberAgents } from './agents/remember.ts';
import { commands, panels } from './ids.ts';
import { Log } from './log.ts';
import { coalesce } from './panels/coalesce.ts';
import { TracePanel } from './panels/trace-panel.ts';
import { TrainingPanel } from './panels/training-panel.ts';
import { dryRunAgent } from './runs/dry-run-command.ts';
import { openTrace, openTraining } from './runs/open-commands.ts';
import { tellRunEnded } from './runs/run-ended.ts';
import { stopRun } from './runs/stop-command.ts';
import { trainAgent } from './runs/train-command.ts';
import type { Services } from './services.ts';
import { createStatusBar } from './status-bar.ts';
import { AgentDiagnostics } from './diagnostics/agent-diagnostics.ts';
import { WrapActions } from './wrap/wrap-actions.ts';
import { makeNotTrainable, makeTrainable } from './wrap/wrap-command.ts';
import { WrapLenses } from './wrap/wrap-lenses.ts';
import { previewScheme, WrapPreview } from './wrap/preview.ts';
import { Workspaces } from './workspaces.ts';

const rescanMs = 500;

/** Wiring only. Nothing is awaited: scans and a trainer that outlived its window are found in the background. */
export function activate(context: vscode.ExtensionContext): void {
  const log = new Log(vscode);
  const finder = new AgentFinder(vscode);
  const workspaces = new Workspaces(vscode, join(context.extensionPath, 'dist', 'trainer', 'cli.js'), log);
  const services = { vscode, log, finder, workspaces } as Services;
  services.training = new TrainingPanel(services, context.extensionUri);
  services.trace = new TracePanel(services, context.extensionUri);
  services.whileStarting = (workspace, work) => (workspace.supervisor.state.kind === 'ready'
    ? work()
    : vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title: vscode.l10n.t('Starting the trainer…') }, work) as ReturnType<typeof work>);
  workspaces.onRunEnded = (workspace, run) => { tellRunEnded(services, workspace, run).catch((error: unknown) => log.toast(error)); };

  const command = (id: string, work: (services: Services, argument: unknown) => unknown): vscode.Disposable =>
    vscode.commands.registerCommand(id, async (argument: unknown) => {
      try {
        await work(services, argument);
      } catch (error) {
        void log.toast(error); // the command has ended, whether its toast was read or not
      }
    });
  const selector = agentFileExtensions.map((extension) => ({ scheme: 'file', pattern: `**/*.${extension}` }));
  const sources = vscode.workspace.createFileSystemWatcher(`**/*.{${agentFileExtensions.join(',')}}`);
  const rescan = coalesce(() => { finder.scan().catch((error: unknown) => { log.background('Looking for agents failed', error); }); }, rescanMs);
  finder.onFound = (agents) => { rememberAgents(vscode, workspaces, agents).catch((error: unknown) => { log.background('The agents could not be noted', error); }); };

  const preview = new WrapPreview(vscode);
  const diagnostics = new AgentDiagnostics(vscode, log);

  context.subscriptions.push(
    log.channel, workspaces, rescan, sources,
    sources.onDidCreate(rescan), sources.onDidChange(rescan), sources.onDidDelete(rescan),
    createStatusBar(vscode, workspaces),
    vscode.languages.registerCodeLensProvider(selector, new AgentLenses(vscode)),
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
    command(commands.stopRun, stopRun),
    command(commands.showLog, () => { log.channel.show(); }),
    vscode.window.registerWebviewPanelSerializer(panels.training, { deserializeWebviewPanel: async (panel, state) => { services.training.restore(panel, state); } }),
    vscode.window.registerWebviewPanelSerializer(panels.trace, { deserializeWebviewPanel: (panel, state) => services.trace.restore(panel, state).catch((error: unknown) => { log.background('The trace panel could not be restored', error); }) }),
  );
  rescan();
  if (vscode.workspace.isTrusted) workspaces.attachAll().catch((error: unknown) => { log.background('A running trainer could not be joined', error); });
}
