import type { Uri } from 'vscode';
import type { VSCode } from '../vscode.ts';
import { agentFileExtensions, detectAgents } from './detect.ts';

/** An agent of the workspace and the file it is in. */
export interface WorkspaceAgent { file: Uri; name: string; line: number }

const skippedFolders = ['node_modules', '.git', '.venv', 'venv', 'dist', 'build', 'out', '__pycache__', 'site-packages', '.agent-trainer'];
const fileLimit = 5000;
const sizeLimit = 1 << 20; // larger sources are generated

/**
 * Finds the agents of all workspace folders by reading, not running, their sources. A scan that is asked for while one
 * runs makes the running one stop and start anew, once.
 */
export class AgentFinder {
  agents: WorkspaceAgent[] = [];
  onFound: (agents: WorkspaceAgent[]) => void = () => {};

  private readonly vscode: VSCode;
  private running: Promise<WorkspaceAgent[]> | null = null;
  private wanted = false;

  constructor(vscode: VSCode) {
    this.vscode = vscode;
  }

  scan(): Promise<WorkspaceAgent[]> {
    this.wanted = true;
    this.running ??= this.scanUntilQuiet().finally(() => { this.running = null; });
    return this.running;
  }

  private async scanUntilQuiet(): Promise<WorkspaceAgent[]> {
    let found: WorkspaceAgent[] | null = null;
    while (found === null || this.wanted) {
      this.wanted = false;
      found = await this.scanOnce();
    }
    this.agents = found;
    this.onFound(found);
    return found;
  }

  /** null: another scan is wanted meanwhile. */
  private async scanOnce(): Promise<WorkspaceAgent[] | null> {
    const { workspace } = this.vscode;
    const files = await workspace.findFiles(`**/*.{${agentFileExtensions.join(',')}}`, `**/{${skippedFolders.join(',')}}/**`, fileLimit);
    files.sort((a, b) => (a.fsPath < b.fsPath ? -1 : 1));
    const agents: WorkspaceAgent[] = [];
    for (const file of files) {
      if (this.wanted) return null;
      agents.push(...await this.agentsIn(file));
    }
    return agents;
  }

  private async agentsIn(file: Uri): Promise<WorkspaceAgent[]> {
    const { fs } = this.vscode.workspace;
    try {
      if ((await fs.stat(file)).size > sizeLimit) return [];
      const text = new TextDecoder().decode(await fs.readFile(file));
      return detectAgents(file.fsPath, text).map((agent) => ({ file, name: agent.name, line: lineOf(text, agent.from) }));
    } catch {
      return []; // removed while we looked, or not readable: there is no agent to run there
    }
  }
}

/** The line, from 0, of an offset. */
export function lineOf(text: string, offset: number): number {
  let line = 0;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line++;
  return line;
}
