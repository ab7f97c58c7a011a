import type { Command } from 'commander';
import { TrainerError } from '../../protocol/errors.ts';
import type { Provider } from '../../protocol/providers.ts';
import { integerArgument, providerOption, runAndPrint } from '../run-command.ts';

interface Options { resume?: string; seed?: number; provider?: Provider; json?: boolean }

/** `train CONFIG`: reinforcement learning, then the comparison on held-out tasks. */
export function addTrainCommand(program: Command): void {
  program.command('train')
    .description('train the model behind an agent: reinforcement learning, SFT or DPO, as the configuration says')
    .argument('[config]', 'path of an agent-trainer.json; left out with --resume')
    .option('--resume <run>', 'continue this run from its last complete step')
    .option('--seed <n>', 'seed of the task order and of sampling', integerArgument('--seed', 0))
    .addOption(providerOption())
    .option('--json', 'print one JSON object')
    .action(async (config: string | undefined, { resume, seed, provider, json }: Options, command: Command) => {
      if ((config === undefined) === (resume === undefined)) {
        throw new TrainerError('bad_input', 'Give either a config file (agent-trainer train agent-trainer.json) or --resume RUN.');
      }
      await runAndPrint(command, { kind: 'train', config_path: config, resume, seed, provider }, json === true);
    });
}
