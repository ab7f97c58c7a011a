import path from 'node:path';
import type { Command } from 'commander';
import { convertVerl } from '../../export/verl/convert.ts';

/** `convert verl CHECKPOINT --out DIR`: a checkpoint of another trainer as a model folder. */
export function addConvertCommand(program: Command): void {
  const convert = program.command('convert').description('make a model folder of a checkpoint of another trainer');
  convert.command('verl')
    .description('merge the files of all ranks of verl\'s FSDP training')
    .argument('<checkpoint>', 'the folder global_step_N, or actor in it')
    .requiredOption('--out <dir>', 'folder to write; it must not exist')
    .action(async (checkpoint: string, { out }: { out: string }) => {
      const target = path.resolve(out);
      await convertVerl(path.resolve(checkpoint), target);
      process.stdout.write(`${target}\n`);
    });
}
