import type { Command } from 'commander';
import { untilUnneeded } from '../../server/lifetime.ts';
import { openTrainer, type Trainer } from '../../server/trainer.ts';
import { integerArgument, printJson, workspaceOf } from '../run-command.ts';

/** `serve`: the daemon the extension talks to. Prints `{url, token_file}` and runs until it is told to stop. */
export function addServeCommand(program: Command): void {
  program.command('serve')
    .description('run the trainer for an editor or a script to connect to')
    .option('--port <n>', 'port on the loopback interface (default: a free one)', integerArgument('--port', 1, 65535))
    .option('--parent-pid <pid>', 'stop when this process has gone and no training run is active', integerArgument('--parent-pid'))
    .action(async (options: { port?: number; parentPid?: number }, command: Command) => {
      const trainer = await openTrainer({ workspace: workspaceOf(command), port: options.port, announce: true });
      // The window that started us may close while training goes on: then nobody reads our output any more.
      for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
      printJson({ url: trainer.url, token_file: trainer.tokenFile });
      await untilStopped(trainer, options.parentPid);
      await trainer.close();
    });
}

/** Resolves on SIGINT or SIGTERM, or once the parent has gone and nobody needs the trainer. */
function untilStopped(trainer: Trainer, parentPid: number | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    process.once('SIGINT', () => resolve()).once('SIGTERM', () => resolve());
    if (parentPid !== undefined) untilUnneeded(trainer, parentPid).then(resolve, reject);
  });
}
