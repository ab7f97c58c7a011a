import type { ExtensionContext } from 'vscode';
import type { AgentFinder } from './agents/find-agents.ts';
import type { Log } from './log.ts';
import { ChangePreview, previewScheme } from './change-preview.ts';
import { EndpointBook } from './models/endpoints.ts';
import type { HubToken } from './models/hub-token.ts';
import { PromptsPanel } from './panels/prompts-panel.ts';
import { TracePanel } from './panels/trace-panel.ts';
import { TrainingPanel } from './panels/training-panel.ts';
import type { VSCode } from './vscode.ts';
import type { Workspace } from './workspace.ts';
import type { Workspaces } from './workspaces.ts';

/** What is there from activation on. */
export interface CoreServices {
  vscode: VSCode;
  log: Log;
  finder: AgentFinder;
  workspaces: Workspaces;
  hubToken: HubToken;
}

/** What commands and panels work with: made when the first of them is used. */
export interface Services extends CoreServices {
  endpoints: EndpointBook;
  training: TrainingPanel;
  trace: TracePanel;
  prompts: PromptsPanel;
  preview: ChangePreview;
  /** Shows that a trainer is being started while one waits for it. */
  whileStarting<T>(workspace: Workspace, work: () => Promise<T>): Promise<T>;
}

export function createServices(core: CoreServices, { secrets, globalState, extensionUri, subscriptions }: ExtensionContext): Services {
  const { vscode } = core;
  const services = { ...core, endpoints: new EndpointBook(secrets, globalState), preview: new ChangePreview(vscode), whileStarting } as Services;
  services.training = new TrainingPanel(services, extensionUri);
  services.trace = new TracePanel(services, extensionUri);
  services.prompts = new PromptsPanel(services, extensionUri);
  subscriptions.push(vscode.workspace.registerTextDocumentContentProvider(previewScheme, services.preview));
  return services;

  async function whileStarting<T>(workspace: Workspace, work: () => Promise<T>): Promise<T> {
    if (workspace.supervisor.state.kind === 'ready') return work();
    return vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title: vscode.l10n.t('Starting the trainer…') }, work);
  }
}
