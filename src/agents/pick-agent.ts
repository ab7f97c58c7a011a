import { z } from 'zod';
import type { Uri } from 'vscode';
import { TrainerError } from '../../trainer/protocol/errors.ts';
import type { VSCode } from '../vscode.ts';
import type { AgentFinder } from './find-agents.ts';

export interface PickedAgent { file: Uri; name: string }

const Argument = z.object({ file: z.string(), name: z.string() });

/**
 * The agent a command is about: the one its lens named, else the one at the cursor, else the user's choice.
 * undefined: the user chose none. @throws TrainerError 'not_found' when there is none to choose
 */
export async function pickAgent(vscode: VSCode, finder: AgentFinder, argument: unknown): Promise<PickedAgent | undefined> {
  const named = Argument.safeParse(argument);
  if (named.success) return { file: vscode.Uri.file(named.data.file), name: named.data.name };
  return await agentAtCursor(vscode, finder) ?? await chooseAgent(vscode, finder);
}

/** The agent the cursor is in: the last one that starts above it, or the first of the file. */
async function agentAtCursor(vscode: VSCode, finder: AgentFinder): Promise<PickedAgent | undefined> {
  const { activeTextEditor, visibleTextEditors } = vscode.window;
  // With the focus in one of our panels no editor is active: then those in sight count.
  for (const { document, selection } of activeTextEditor === undefined ? visibleTextEditors : [activeTextEditor]) {
    const cursor = document.offsetAt(document.lineAt(selection.active.line).range.end);
    const agents = (await finder.in(document)).filter((agent) => agent.kind === 'wrapped');
    const agent = agents.findLast((candidate) => candidate.from <= cursor) ?? agents[0];
    if (agent !== undefined) return { file: document.uri, name: agent.name };
  }
  return undefined;
}

async function chooseAgent(vscode: VSCode, finder: AgentFinder): Promise<PickedAgent | undefined> {
  const { l10n, window, workspace } = vscode;
  await finder.scan();
  const agents = finder.wrapped();
  if (agents.length === 0) {
    throw new TrainerError('not_found', l10n.t('No agent was found. Wrap your agent function with rollout (TypeScript: export const agent = rollout(…), Python: @rollout) and run the command again.'));
  }
  if (agents.length === 1) return agents[0];
  const items = agents.map((agent) => ({ label: agent.name, description: workspace.asRelativePath(agent.file), agent }));
  return (await window.showQuickPick(items, { title: l10n.t('Which agent?'), matchOnDescription: true }))?.agent;
}
