import type { AgentFinder } from './agents/find-agents.ts';
import type { EndpointBook } from './models/endpoints.ts';
import type { Log } from './log.ts';
import type { TracePanel } from './panels/trace-panel.ts';
import type { TrainingPanel } from './panels/training-panel.ts';
import type { VSCode } from './vscode.ts';
import type { Workspace } from './workspace.ts';
import type { Workspaces } from './workspaces.ts';

/** What commands and panels work with. */
export interface Services {
  vscode: VSCode;
  log: Log;
  finder: AgentFinder;
  workspaces: Workspaces;
  endpoints: EndpointBook;
  training: TrainingPanel;
  trace: TracePanel;
  /** Shows that a trainer is being started while one waits for it. */
  whileStarting<T>(workspace: Workspace, work: () => Promise<T>): Promise<T>;
}
