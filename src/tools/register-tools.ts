import type { Disposable, LanguageModelToolResult } from 'vscode';
import { tools } from '../ids.ts';
import type { CoreServices } from '../services.ts';

/** What a chat of the editor may do with agents. Results are JSON text; a failure reaches the model in the words of its error. */
export function registerTools(core: CoreServices): Disposable {
  const { l10n, lm, Disposable, LanguageModelTextPart, LanguageModelToolResult } = core.vscode;
  const result = (value: object): LanguageModelToolResult => new LanguageModelToolResult([new LanguageModelTextPart(JSON.stringify(value))]);
  return Disposable.from(
    lm.registerTool(tools.listAgents, {
      prepareInvocation: () => ({ invocationMessage: l10n.t('Looking for agents') }),
      invoke: async () => result(await (await import('./list-agents.ts')).listAgents(core)),
    }),
    lm.registerTool(tools.dryRun, {
      prepareInvocation: async ({ input }) => ({ confirmationMessages: await (await import('./dry-run.ts')).confirmDryRun(core, input), invocationMessage: l10n.t('Running the agent') }),
      invoke: async ({ input }, token) => result(await (await import('./dry-run.ts')).dryRun(core, input, token)),
    }),
    lm.registerTool(tools.explainReward, {
      prepareInvocation: () => ({ invocationMessage: l10n.t('Reading the rollout') }),
      invoke: async ({ input }) => result(await (await import('./explain-reward.ts')).explainReward(core, input)),
    }),
  );
}
