import type { Disposable } from 'vscode';
import { commands } from './ids.ts';
import type { CoreServices, Services } from './services.ts';

/** What VS Code hands a command: what it was called on (by a lens, a click, a line of a tree), and the lines selected there. */
type Command = (services: Services, argument: unknown, selected: unknown) => unknown;

/** Each command, in a module that is loaded when the command is first used. */
const implementations: Record<(typeof commands)[keyof typeof commands], () => Promise<Command>> = {
  [commands.train]: async () => (await import('./runs/train-command.ts')).trainAgent,
  [commands.dryRun]: async () => (await import('./runs/dry-run-command.ts')).dryRunAgent,
  [commands.dryRunWith]: async () => (await import('./models/dry-run-with-command.ts')).dryRunWith,
  [commands.debugRollout]: async () => (await import('./debug/debug-rollout-command.ts')).debugRollout,
  [commands.checkEndpoint]: async () => (await import('./models/check-endpoint-command.ts')).checkEndpoint,
  [commands.setHubToken]: async () => (await import('./models/hub-token-command.ts')).setHubToken,
  [commands.makeTrainable]: async () => (await import('./wrap/wrap-command.ts')).makeTrainable,
  [commands.makeNotTrainable]: async () => (await import('./wrap/wrap-command.ts')).makeNotTrainable,
  [commands.openTraining]: async () => (await import('./runs/open-commands.ts')).openTraining,
  [commands.openTrace]: async () => (await import('./runs/open-commands.ts')).openTrace,
  [commands.openTraceFile]: async () => (await import('./runs/open-trace-file.ts')).openTraceFile,
  [commands.showLatestRollout]: async () => (await import('./annotations/show-latest-command.ts')).showLatestRollout,
  [commands.openTaskTrace]: async () => (await import('./testing/open-task-trace.ts')).openTaskTrace,
  [commands.openRun]: async () => (await import('./runs/open-run-command.ts')).openRun,
  [commands.revealCheckpoint]: async () => (await import('./runs/open-run-command.ts')).revealCheckpoint,
  [commands.copyCheckpointPath]: async () => (await import('./runs/open-run-command.ts')).copyCheckpointPath,
  [commands.compareRuns]: async () => (await import('./runs/compare-command.ts')).compareRuns,
  [commands.pauseRun]: async () => (await import('./runs/control-commands.ts')).pauseCommand,
  [commands.resumeRun]: async () => (await import('./runs/control-commands.ts')).resumeCommand,
  [commands.stopRun]: async () => (await import('./runs/stop-command.ts')).stopRun,
  [commands.exportRun]: async () => (await import('./runs/export-command.ts')).exportRun,
  [commands.deleteRun]: async () => (await import('./runs/delete-command.ts')).deleteRun,
  [commands.optimizePrompt]: async () => (await import('./prompts/prompt-commands.ts')).optimizePrompt,
  [commands.reviewPrompt]: async () => (await import('./prompts/prompt-commands.ts')).reviewPrompt,
  [commands.applyChange]: async () => ({ preview }) => { preview.answer(true); },
  [commands.discardChange]: async () => ({ preview }) => { preview.answer(false); },
  [commands.openPrompts]: async () => ({ prompts }) => { prompts.openWide(); },
  [commands.refreshAgents]: async () => ({ finder }) => finder.scan(),
  [commands.showLog]: async () => ({ log }) => { log.channel.show(); },
};

/** Registers every command. A failure of one is told in a toast. */
export function registerCommands({ vscode, log }: CoreServices, services: () => Promise<Services>): Disposable {
  const registered = Object.entries(implementations).map(([id, load]) => vscode.commands.registerCommand(id, async (argument: unknown, selected: unknown) => {
    try {
      const [command, given] = await Promise.all([load(), services()]);
      await command(given, argument, selected);
    } catch (error) {
      void log.toast(error); // the command has ended, whether its toast was read or not
    }
  }));
  return vscode.Disposable.from(...registered);
}
