import type { Command } from 'commander';
import { openTrainer } from '../../server/trainer.ts';
import { integerArgument, printJson, workspaceOf } from '../run-command.ts';

/** `serve`: the daemon the extension talks to. Prints `{url, token_file}` and runs until it is told to stop. */
export function addServeCommand(program: Command): void {
  program.command('serve')
    .description('run the trainer for an editor or script to connect to')
    .option('--port <n>', 'port on the loopback interface (default: a free one)', integerArgument('--port'))
    .option('--exit-with-stdin', 'stop when standard input closes and no training run is active')
    .action(async (options: { port?: number; exitWithStdin?: boolean }, command: Command) => {
      const trainer = await openTrainer({ workspace: workspaceOf(command), port: options.port });
      printJson({ url: trainer.url, token_file: trainer.tokenFile });
      await stopSignal(options.exitWithStdin === true, () => trainer.runs.whenNoTraining());
      await trainer.close();
    });
}

/** Resolves on SIGINT or SIGTERM; with `stdin`, also once standard input has closed and training is over. */
function stopSignal(stdin: boolean, whenNoTraining: () => Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGINT', () => resolve()).once('SIGTERM', () => resolve());
    if (stdin) process.stdin.resume().once('close', () => { void whenNoTraining().then(resolve); });
  });
}
