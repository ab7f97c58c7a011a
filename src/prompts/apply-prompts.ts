import { join } from 'node:path';
import type { TextDocument } from 'vscode';
import { TrainerError } from '../../trainer/protocol/errors.ts';
import type { Prompt } from '../../trainer/protocol/prompts.ts';
import type { PickedAgent } from '../agents/pick-agent.ts';
import { mayRun } from '../runs/guards.ts';
import type { Services } from '../services.ts';
import type { Workspace } from '../workspace.ts';
import { applyEdits } from '../wrap/edits.ts';
import type { Edit } from '../wrap/edits.ts';

/** Texts for prompts of an agent, by prompt id, and the search they come from. */
export interface Proposal { workspace: Workspace; agent: PickedAgent; run_id: string; texts: Readonly<Record<string, string>> }

interface FileChange { document: TextDocument; edits: Edit[]; proposed: string }

/**
 * Puts texts into the source: shows what would change, asks, and then changes every file in one undo step. A prompt that was
 * edited by hand since the search began is left alone, and the user is told. Resolves with whether it was done. @throws TrainerError
 */
export async function applyPrompts(services: Services, proposal: Proposal): Promise<boolean> {
  const { vscode } = services;
  if (!mayRun(vscode)) return false;
  const changes = await changesOf(services, proposal);
  if (changes === null) return false;
  if (changes.length === 0) {
    void vscode.window.showInformationMessage(vscode.l10n.t('This text is in the source already.'));
    return false;
  }
  const count = Object.keys(proposal.texts).length;
  const question = count === 1 ? vscode.l10n.t('Put this prompt into the source?') : vscode.l10n.t('Put these {0} prompts into the source?', count);
  if (!await services.preview.ask(changes, question)) return false;
  const agreed = await changesOf(services, proposal); // the documents may have been edited while the question was open
  if (agreed === null) return false;
  const edit = new vscode.WorkspaceEdit();
  for (const { document, edits } of agreed) for (const { from, to, insert } of edits) edit.replace(document.uri, new vscode.Range(document.positionAt(from), document.positionAt(to)), insert);
  if (!await vscode.workspace.applyEdit(edit)) throw new TrainerError('conflict', vscode.l10n.t('The file could not be changed. It may be read-only, or it changed in the meantime; try again.'));
  if (agreed[0] !== undefined) await vscode.window.showTextDocument(agreed[0].document);
  return true;
}

/** What the texts change, file by file; null: the source has texts that no search knows, which the user was told. @throws TrainerError */
async function changesOf(services: Services, { workspace, agent, run_id, texts }: Proposal): Promise<FileChange[] | null> {
  const { finder, vscode } = services;
  const { applyPrompt } = await import('../../trainer/prompts/apply-prompt.ts');
  const now = new Map((await finder.promptsOf(workspace.folder, agent.file.fsPath, agent.name)).map((prompt) => [prompt.prompt_id, prompt]));
  const search = workspace.searches.get(run_id);
  const known = knownTexts(workspace);
  const byFile = new Map<string, Prompt[]>();
  for (const [prompt_id, text] of Object.entries(texts)) {
    const prompt = now.get(prompt_id);
    const name = search?.prompts.find((each) => each.prompt_id === prompt_id)?.name ?? prompt_id;
    if (prompt === undefined) throw new TrainerError('not_found', vscode.l10n.t('{0} is not in the source any more: it was moved, renamed or removed since the search began. Copy its text from the panel.', name));
    if (prompt.text === text) continue;
    if (!known.get(prompt_id)?.has(prompt.text)) {
      await refuse(services, prompt, text);
      return null;
    }
    byFile.set(prompt.file, [...byFile.get(prompt.file) ?? [], prompt]);
  }
  return Promise.all([...byFile].map(async ([file, prompts]): Promise<FileChange> => {
    const document = await vscode.workspace.openTextDocument(vscode.Uri.file(join(workspace.folder, file)));
    const before = document.getText();
    const edits = prompts.flatMap((prompt) => applyPrompt(before, prompt, texts[prompt.prompt_id] ?? prompt.text));
    return { document, edits, proposed: applyEdits(before, edits) };
  }));
}

/** By prompt id: every text that a search of this workspace began with or made. Anything else was written by hand. */
function knownTexts({ book, searches }: Workspace): Map<string, Set<string>> {
  const known = new Map<string, Set<string>>();
  for (const { run } of book.list()) {
    for (const { texts } of searches.get(run.run_id)?.candidates ?? []) {
      for (const [prompt_id, text] of Object.entries(texts)) known.set(prompt_id, (known.get(prompt_id) ?? new Set()).add(text));
    }
  }
  return known;
}

async function refuse({ preview, vscode }: Services, { name, text: before }: Prompt, after: string): Promise<void> {
  const { l10n, window } = vscode;
  const show = l10n.t('Show difference');
  const choice = await window.showWarningMessage(l10n.t('{0} was edited by hand since this search began, so nothing was changed: the candidate was scored without that edit. Start a new search from the text as it is now, or take over by hand what you want of it.', name), show);
  if (choice === show) await preview.compare(name, l10n.t('{0}: source and candidate', name), before, after);
}
