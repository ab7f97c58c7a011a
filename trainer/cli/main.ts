#!/usr/bin/env node
import { Command, CommanderError } from 'commander';
import { addConvertCommand } from './commands/convert.ts';
import { addDevCommand } from './commands/dev.ts';
import { addEvalCommand } from './commands/eval.ts';
import { addExportCommand } from './commands/export.ts';
import { addHardwareCommand } from './commands/hardware.ts';
import { addOptimizeCommand } from './commands/optimize.ts';
import { addReportCommand } from './commands/report.ts';
import { addRunsCommand } from './commands/runs.ts';
import { addServeCommand } from './commands/serve.ts';
import { addTasksCommand } from './commands/tasks.ts';
import { addTraceCommand } from './commands/trace.ts';
import { addTrainCommand } from './commands/train.ts';
import { oneLine } from './format.ts';
import { messageOf } from '../protocol/errors.ts';
import packageJson from '../../package.json' with { type: 'json' };

const program = new Command('agent-trainer')
  .description('Run, inspect, evaluate and train the agents of a workspace, on this machine.')
  .version(packageJson.version, '--version')
  .option('--workspace <dir>', 'folder that holds .agent-trainer/ (default: the current folder)')
  .option('--verbose', 'show stack traces and debug notices')
  .showHelpAfterError('(agent-trainer --help lists the commands)')
  .exitOverride();

for (const add of [addDevCommand, addTrainCommand, addOptimizeCommand, addEvalCommand, addServeCommand, addRunsCommand, addTasksCommand, addTraceCommand, addReportCommand, addExportCommand, addConvertCommand, addHardwareCommand]) add(program);

// Output that cannot be written: the reader has left (`| head`), or the disk it goes to is full.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') tell(error);
  process.exit(error.code === 'EPIPE' ? 0 : 1);
});
process.stderr.on('error', () => undefined); // nobody is there to hear of it
process.on('uncaughtException', (error) => {
  tell(error);
  process.exit(1); // agent processes end with this one
});

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode; // commander has printed its message
  } else {
    tell(error);
    process.exitCode ||= 1;
  }
}

function tell(error: unknown): void {
  const verbose = program.opts<{ verbose?: boolean }>().verbose === true;
  process.stderr.write(`agent-trainer: ${oneLine(messageOf(error))}\n`);
  if (verbose && error instanceof Error) process.stderr.write(`${error.stack}\n${error.cause instanceof Error ? `Caused by: ${error.cause.stack}\n` : ''}`);
}
