import { dirname, join } from 'node:path';
import { TrainerError } from '../../trainer/protocol/errors.ts';
import { answerAsks } from '../models/answer-asks.ts';
import { pickModel } from '../models/pick-model.ts';
import { mayRun, saveIfOpen } from '../runs/guards.ts';
import { pickDataFile } from '../runs/pick-data.ts';
import type { Services } from '../services.ts';
import { requestOf } from '../views/prompts/setup-view.ts';
import { applyPrompts } from './apply-prompts.ts';
import { modelsAgain } from './models-again.ts';
import type { OnDesk, PromptDesk } from './prompt-desk.ts';

/** Starts a search as it is set up. @throws TrainerError */
export async function startSearch(services: Services, desk: PromptDesk, { agent, workspace, reference, prompts, setup }: OnDesk): Promise<void> {
  const { vscode } = services;
  if (!mayRun(vscode) || prompts === null || setup.data === null) return;
  desk.set({ starting: true });
  try {
    for (const path of new Set([agent.file.fsPath, ...prompts.map(({ file }) => join(workspace.folder, file))])) await saveIfOpen(vscode, path);
    const client = await services.whileStarting(workspace, () => workspace.client());
    if (setup.optimizer?.kind === 'editor') answerAsks(vscode, client);
    const { data, seed, model } = setup;
    const run = await client.call('runs.start', { kind: 'optimize', agent: reference, data, seed, optimize: requestOf(setup, prompts), ...(model === null ? {} : { model }) });
    workspace.book.begin(run);
    desk.look({ run_id: run.run_id, candidate_id: null, base: 'source' });
  } finally {
    desk.set({ starting: false });
  }
}

/** A file of tasks, chosen by the user. */
export async function chooseData({ vscode }: Services, desk: PromptDesk, { agent, workspace, setup }: OnDesk, part: 'data' | 'validation' | 'test'): Promise<void> {
  const data = await pickDataFile(vscode, dirname(agent.file.fsPath), workspace.folder);
  if (data !== undefined) desk.set({ setup: { ...setup, [part]: data } });
}

/** The model that answers the agent, or the one that rewrites its prompts. @throws TrainerError when it does not answer */
export async function chooseModel(services: Services, desk: PromptDesk, { workspace, config, setup }: OnDesk, of: 'agent' | 'optimizer'): Promise<void> {
  const { l10n, workspace: files } = services.vscode;
  if (!mayRun(services.vscode)) return;
  const configured = of === 'optimizer' ? '' : config === null ? null : files.asRelativePath(config);
  const picked = await pickModel(services, workspace, { configured, proceed: l10n.t('Use this model'), role: of === 'agent' ? 'many-rollouts' : 'optimizer' });
  if (picked !== undefined) desk.set({ setup: { ...setup, [of === 'agent' ? 'model' : 'optimizer']: picked.kind === 'configured' ? null : picked } });
}

/** Opens a prompt in its file, selected. @throws TrainerError */
export async function openPrompt({ vscode }: Services, { workspace, prompts }: OnDesk, prompt_id: string): Promise<void> {
  const prompt = prompts?.find((each) => each.prompt_id === prompt_id);
  if (prompt === undefined) return;
  const document = await vscode.workspace.openTextDocument(vscode.Uri.file(join(workspace.folder, prompt.file)));
  const from = document.positionAt(prompt.from);
  await vscode.window.showTextDocument(document, { selection: new vscode.Range(from, prompt.syntax === 'file' ? from : document.positionAt(prompt.to)) });
}

/** Puts a candidate's texts into the source. @throws TrainerError */
export async function applyCandidate(services: Services, { agent, workspace }: OnDesk, run_id: string, candidate_id: string): Promise<void> {
  const candidate = workspace.searches.get(run_id)?.candidates.find((each) => each.candidate_id === candidate_id);
  if (candidate === undefined) throw new TrainerError('not_found', services.vscode.l10n.t('This candidate is not known any more. Open its search again.'));
  await applyPrompts(services, { workspace, agent, run_id, texts: candidate.texts });
}

/** Scores a text written by hand; resolves with the new candidate. @throws TrainerError when it breaks a rule */
export async function scoreByHand(services: Services, { workspace }: OnDesk, run_id: string, parent: string, texts: Record<string, string>): Promise<string> {
  const client = await services.whileStarting(workspace, () => workspace.client());
  const { run } = await client.call('runs.get', { run_id });
  const candidate = await client.call('optimize.add', { run_id, parent, texts, models: await modelsAgain(services, client, run) });
  await workspace.searches.load(run_id, true);
  return candidate.candidate_id;
}

/** The trace of a rollout: of a cached one where it was made. @throws TrainerError */
export async function openTrace(services: Services, { workspace }: OnDesk, run_id: string, rollout_id: string): Promise<void> {
  const cached = workspace.searches.get(run_id)?.candidates.some(({ results }) => results.some((result) => result.rollout_id === rollout_id && result.cached)) ?? false;
  const { rollout } = cached ? await (await workspace.client()).call('trace.get', { rollout_id }) : { rollout: null };
  await services.trace.show(workspace, rollout?.run_id ?? run_id, rollout_id);
}
