import type { Command } from 'commander';
import type { Provider } from '../../protocol/providers.ts';
import { agentOrConfig, integerArgument, policyForms, providerOption, runAndPrint } from '../run-command.ts';

interface Options { data?: string; policy?: string; tasks?: string[]; against?: string; limit?: number; provider?: Provider; json?: boolean }

/** `eval AGENT --data FILE --policy P [--against Q]` or `eval CONFIG`: score a policy, or compare two on the same tasks. */
export function addEvalCommand(program: Command): void {
  program.command('eval')
    .description('score a policy on tasks, or compare two on the same tasks')
    .argument('<agent>', 'path[:name], or an agent-trainer.json')
    .option('--data <file>', 'tasks: JSONL, JSON, CSV or parquet (default: the validation tasks of the agent-trainer.json given)')
    .option('--policy <p>', `${policyForms} (default: the model of the agent-trainer.json given)`)
    .option('--against <q>', 'a second one to compare with')
    .option('--limit <n>', 'number of tasks', integerArgument('--limit'))
    .option('--tasks <ids...>', 'only these tasks; agent-trainer tasks lists them')
    .addOption(providerOption())
    .option('--json', 'print one JSON object')
    .action(async (agent: string, { json, tasks, ...request }: Options, command: Command) => {
      await runAndPrint(command, { kind: 'eval', ...agentOrConfig(agent), task_ids: tasks, ...request }, json === true);
    });
}
