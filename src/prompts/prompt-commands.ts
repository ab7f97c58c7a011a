import { z } from 'zod';
import { TrainerError } from '../../trainer/protocol/errors.ts';
import { pickAgent } from '../agents/pick-agent.ts';
import { mayRun } from '../runs/guards.ts';
import { chosenRun, knownRuns } from '../runs/pick-run.ts';
import { isActive } from '../runs/run-book.ts';
import type { Services } from '../services.ts';
import { resultOf } from '../views/prompts/search-result.ts';

/** What a lens hands the commands: the prompt, and an agent it reaches. */
export interface PromptArgument { file: string; name: string; prompt_id: string }

const Named = z.object({ prompt_id: z.string() });

/** "Optimize Prompt…": the set-up of a search for better texts of an agent's prompts; of one prompt alone when a lens names it. */
export async function optimizePrompt(services: Services, argument: unknown): Promise<void> {
  const { finder, prompts, vscode } = services;
  if (!mayRun(vscode)) return;
  const agent = await pickAgent(vscode, finder, argument);
  if (agent === undefined) return;
  await prompts.show(agent, null);
  const named = Named.safeParse(argument);
  if (named.success) prompts.only(named.data.prompt_id);
}

/** "Review Optimized Prompt": the search it is called on, else the active one, else one that found something. */
export async function reviewPrompt(services: Services, argument: unknown): Promise<void> {
  const { l10n } = services.vscode;
  const searches = (await knownRuns(services)).filter(({ entry }) => entry.run.kind === 'optimize');
  const active = argument === undefined ? searches.find(({ entry }) => isActive(entry.run)) : undefined;
  const chosen = active === undefined
    ? await chosenRun(services, argument, l10n.t('Review which search?'), ({ run }) => run.kind === 'optimize' && (isActive(run) || resultOf(run) !== null), l10n.t('No search for prompts has found anything yet. Start one with Optimize Prompt.'))
    : { workspace: active.workspace, run_id: active.entry.run.run_id };
  if (chosen === undefined) return;
  const run = chosen.workspace.book.entries.get(chosen.run_id)?.run;
  if (run === undefined) throw new TrainerError('not_found', l10n.t('This search is not known here any more.'));
  await services.prompts.showRun(chosen.workspace, chosen.run_id, resultOf(run)?.best.candidate_id ?? null);
}
