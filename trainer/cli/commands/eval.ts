import type { Command } from 'commander';
import { integerArgument, runAndPrint } from '../run-command.ts';

interface Options { data: string; policy: string; against?: string; limit?: number; json?: boolean }

/** `eval AGENT --data FILE --policy P [--against Q]`: score a policy, or compare two on the same tasks. */
export function addEvalCommand(program: Command): void {
  program.command('eval')
    .description('score a policy on tasks, or compare two on the same tasks')
    .argument('<agent>', 'path[:name]')
    .requiredOption('--data <file>', 'tasks: JSONL, JSON, CSV or parquet')
    .requiredOption('--policy <p>', 'model folder or OpenAI-compatible URL[#model]')
    .option('--against <q>', 'a second one to compare with')
    .option('--limit <n>', 'number of tasks', integerArgument('--limit'))
    .option('--json', 'print one JSON object')
    .action(async (agent: string, { json, ...request }: Options, command: Command) => {
      await runAndPrint(command, { kind: 'eval', agent, ...request }, json === true);
    });
}
