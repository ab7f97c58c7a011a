import type { Command } from 'commander';
import type { Provider } from '../../protocol/providers.ts';
import { DevResult } from '../../protocol/run.ts';
import { agentOrConfig, integerArgument, policyForms, providerOption, runAndPrint } from '../run-command.ts';

interface Options { data?: string; limit: number; policy?: string; provider?: Provider; json?: boolean }

/** `dev AGENT --data FILE` or `dev CONFIG`: run the agent on a few tasks and show what came back. Fails when no rollout has a reward. */
export function addDevCommand(program: Command): void {
  program.command('dev')
    .description('dry run: the agent on a few tasks')
    .argument('<agent>', 'path[:name], or an agent-trainer.json')
    .option('--data <file>', 'tasks: JSONL, JSON, CSV or parquet (default: the training tasks of the agent-trainer.json given)')
    .option('--limit <n>', 'number of tasks', integerArgument('--limit'), 10)
    .option('--policy <p>', `${policyForms} (default: the model of the nearest agent-trainer.json)`)
    .addOption(providerOption())
    .option('--json', 'print one JSON object')
    .action(async (agent: string, { data, limit, policy, provider, json }: Options, command: Command) => {
      const result = DevResult.parse(await runAndPrint(command, { kind: 'dev', ...agentOrConfig(agent), data, limit, policy, provider }, json === true));
      if (result.rollouts.every(({ reward }) => reward === null)) process.exitCode = 1; // for scripts: nothing came back
    });
}
