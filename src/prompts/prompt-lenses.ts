import { existsSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import type { CodeLens, CodeLensProvider, EventEmitter, TextDocument } from 'vscode';
import type { Optimization } from '../../trainer/protocol/optimize.ts';
import type { Prompt } from '../../trainer/protocol/prompts.ts';
import type { Run } from '../../trainer/protocol/run.ts';
import { isAgentFile } from '../agents/agent-files.ts';
import { commands } from '../ids.ts';
import { coalesce } from '../panels/coalesce.ts';
import type { CoreServices } from '../services.ts';
import { stateFolder } from '../trainer/state-folder.ts';
import type { LensState } from '../views/prompts/lens-text.ts';
import type { Workspace } from '../workspace.ts';
import type { PromptArgument } from './prompt-commands.ts';

const refreshMs = 500;

/** Over each prompt: its score as far as it is known, the progress of a search, and what a search found. Nothing in an untrusted workspace. */
export class PromptLenses implements CodeLensProvider {
  private readonly services: CoreServices;
  private readonly changed: EventEmitter<void>;
  private readonly joined = new Set<Workspace>();
  private readonly subscriptions: { dispose(): void }[];
  /** What the lenses last said of searches: events that change nothing of it redraw none. */
  private drawn = '';

  constructor(services: CoreServices) {
    this.services = services;
    this.changed = new services.vscode.EventEmitter<void>();
    const refresh = coalesce(() => { this.refresh(); }, refreshMs);
    this.subscriptions = [this.changed, refresh, services.workspaces.onChanged(refresh), services.vscode.workspace.onDidGrantWorkspaceTrust(() => { this.changed.fire(); })];
  }

  get onDidChangeCodeLenses() { return this.changed.event; }

  async provideCodeLenses(document: TextDocument): Promise<CodeLens[]> {
    const { finder, vscode, workspaces } = this.services;
    if (!vscode.workspace.isTrusted || document.uri.scheme !== 'file') return [];
    const workspace = workspaces.of(document.uri);
    this.join(workspace);
    const searches = searchesOf(workspace);
    const [prompts, { lensState, lensText }] = await Promise.all([
      isAgentFile(document.fileName) ? finder.promptsIn(document, workspace.folder) : promptFile(document, workspace.folder, searches), import('../views/prompts/lens-text.ts'),
    ]);
    return prompts.map((prompt) => {
      const state = lensState(prompt.prompt_id, prompt.text, searches);
      const start = document.positionAt(prompt.from);
      return new vscode.CodeLens(new vscode.Range(start, start), { title: lensText(state), ...this.action(state, workspace, prompt) });
    });
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  private action(state: LensState, { folder }: Workspace, prompt: Prompt): { command: string; arguments: unknown[]; tooltip: string } {
    const { l10n } = this.services.vscode;
    if (state.kind === 'running' || state.kind === 'improved') {
      const tooltip = state.kind === 'running' ? l10n.t('Show the search for a better text') : l10n.t('A better text was found: see what changes, and apply it. Scores are of held-out tasks.');
      return { command: commands.reviewPrompt, arguments: [{ folder, run_id: state.run_id, kind: 'optimize' }], tooltip };
    }
    const [agent] = prompt.agents;
    const [, file = '', name = ''] = /^(.*):([^:]*)$/.exec(agent ?? '') ?? [];
    const argument: Partial<PromptArgument> = { prompt_id: prompt.prompt_id, ...(file === '' ? {} : { file: join(folder, file), name }) };
    return { command: commands.optimizePrompt, arguments: [argument], tooltip: state.kind === 'scored' ? l10n.t('This text scored {0}. Search for a better one.', state.score.toFixed(3)) : l10n.t('Search for a text that scores better on your tasks') };
  }

  /** A workspace that has had runs is asked for its searches. */
  private join(workspace: Workspace): void {
    if (this.joined.has(workspace)) return;
    this.joined.add(workspace);
    if (!existsSync(join(workspace.folder, stateFolder, 'trainer.db'))) return;
    workspace.client().catch((error: unknown) => { this.services.log.background('The searches for prompts could not be read', error); });
  }

  private refresh(): void {
    const now = JSON.stringify(this.services.workspaces.all().flatMap(searchesOf).map(({ run, search }) => [run.run_id, run.status, run.result, search.best, search.spent.rollouts, search.candidates.length]));
    if (now === this.drawn) return;
    this.drawn = now;
    this.changed.fire();
  }
}

/** What is known of the searches of a workspace, newest first. */
function searchesOf({ book, searches }: Workspace): { run: Run; search: Optimization }[] {
  return book.list().flatMap(({ run }) => {
    const search = searches.get(run.run_id);
    return search === null ? [] : [{ run, search }];
  });
}

/** A text file that is a prompt, which only a search that it was part of tells. */
async function promptFile(document: TextDocument, folder: string, searches: readonly { search: Optimization }[]): Promise<Prompt[]> {
  const file = relative(folder, document.fileName).split(sep).join('/');
  const prompt = searches.flatMap(({ search }) => search.prompts).find((each) => each.file === file && each.syntax === 'file');
  if (prompt === undefined) return [];
  const { readTextFile } = await import('../../trainer/prompts/text-file.ts');
  return [{ ...prompt, from: 0, text: readTextFile(document.getText()) }];
}
