import type { Command } from 'commander';
import { integerArgument, runAndPrint } from '../run-command.ts';

interface Options { data: string; limit: number; policy?: string; json?: boolean }

/** `dev AGENT --data FILE`: run the agent on a few tasks and show what came back. */
export function addDevCommand(program: Command): void {
  program.command('dev')
    .description('dry run: the agent on a few tasks')
    .argument('<agent>', 'path[:name]')
    .requiredOption('--data <file>', 'tasks: JSONL, JSON, CSV or parquet')
    .option('--limit <n>', 'number of tasks', integerArgument('--limit'), 10)
    .option('--policy <p>', 'model folder or OpenAI-compatible URL[#model] (default: the model of the nearest agent-trainer.json)')
    .option('--json', 'print one JSON object')
    .action(async (agent: string, { data, limit, policy, json }: Options, command: Command) => {
      await runAndPrint(command, { kind: 'dev', agent, data, limit, policy }, json === true);
    });
}
