import { Option, type Command } from 'commander';
import { providerLabels, type ProviderChoice } from '../../protocol/providers.ts';
import { significant } from '../../protocol/significant.ts';
import { installable, installProvider, measureHardware } from '../../policy/provider/hardware.ts';
import { printJson } from '../run-command.ts';

interface Options { install?: (typeof installable)[number]; json?: boolean }

/** `hardware [MODEL]`: what the engine can run on here, how fast each is, and which is chosen. */
export function addHardwareCommand(program: Command): void {
  program.command('hardware')
    .description('measure what the engine can run on here; runs use the fastest')
    .argument('[model]', 'a model (folder, GGUF file or hf:owner/name) to measure for (default: as wide as models of half a billion parameters)')
    .addOption(new Option('--install <provider>', 'first download what this provider needs besides its driver').choices(installable))
    .option('--json', 'print one JSON object')
    .action(async (model: string | undefined, { install, json }: Options) => {
      if (install) await installProvider(install);
      const choice = await measureHardware(model, (provider) => { process.stderr.write(`Measuring ${providerLabels[provider]}\n`); });
      if (json) printJson(choice);
      else process.stdout.write(`${hardwareText(choice)}\n`);
    });
}

/** A line for each provider, the chosen one marked. */
export function hardwareText({ provider: chosen, trials }: ProviderChoice): string {
  return trials.map((trial) => {
    const mark = trial.provider === chosen ? '*' : ' ';
    const timing = trial.refused === null ? trial.timing : null;
    const speed = timing === null ? 'the only provider here' : `${significant(timing.per_token, 3)} ms per token sampled and trained on (training step ${significant(timing.train_ms, 3)} ms, decode step ${significant(timing.decode_ms, 3)} ms)`;
    return `${mark} ${providerLabels[trial.provider].padEnd(14)}${trial.refused ?? speed}`;
  }).join('\n');
}
