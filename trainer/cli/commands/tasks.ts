import path from 'node:path';
import type { Command } from 'commander';
import { openTrainer } from '../../server/trainer.ts';
import { oneLine, printable } from '../format.ts';
import { printJson, workspaceOf } from '../run-command.ts';

/** `tasks CONFIG`: the tasks that an evaluation by a configuration runs. Runs nothing. */
export function addTasksCommand(program: Command): void {
  program.command('tasks')
    .description('list the validation tasks of an agent-trainer.json')
    .argument('<config>', 'path of an agent-trainer.json')
    .option('--json', 'print one JSON object')
    .action(async (config: string, { json }: { json?: boolean }, command: Command) => {
      const trainer = await openTrainer({ workspace: workspaceOf(command) });
      try {
        const list = await trainer.runs.tasks(path.resolve(config));
        if (json === true) printJson(list);
        else process.stdout.write(`${list.tasks.map(({ task_id, input }) => `${printable(task_id)}  ${oneLine(JSON.stringify(input)).slice(0, 100)}`).join('\n')}\n`);
      } finally {
        await trainer.close();
      }
    });
}
