import path from 'node:path';
import { Option, type Command } from 'commander';
import { exportFormats, exportModel, weightTypes, type ExportFormat } from '../../export/export-model.ts';
import { trainedModel } from '../../runs/trained-model.ts';
import { workspaceOf } from '../run-command.ts';

/** `export RUN_OR_MODEL --format FORMAT --out PATH`: a model for other programs. */
export function addExportCommand(program: Command): void {
  program.command('export')
    .description('write what a run has trained, or any model, for other programs')
    .argument('<run-or-model>', 'a run; a model folder, a GGUF file, or hf:owner/name')
    .addOption(new Option('--format <format>', 'hf: a Hugging Face folder; gguf: a file for llama.cpp; ollama: a folder with such a file and a Modelfile; onnx: a folder for ONNX Runtime, laid out as by Hugging Face Optimum; peft: the LoRA adapter alone').choices(exportFormats).makeOptionMandatory())
    .option('--type <type>', `type of the weights: ${Object.entries(weightTypes).map(([format, types]) => `${format}: ${types.join(', ')}`).join('; ')} (default: hf as they are, gguf and ollama f16, onnx and peft f32)`)
    .requiredOption('--out <path>', 'folder or file to write; it must not exist')
    .action(async (model: string, { format, type, out }: { format: ExportFormat; type?: string; out: string }, command: Command) => {
      const target = path.resolve(out);
      await exportModel({ source: trainedModel(model, workspaceOf(command)), format, type: type ?? null, out: target });
      process.stdout.write(`${target}\n`);
      if (format === 'ollama') process.stderr.write(`Make it a model of Ollama with: ollama create ${path.basename(target)} -f ${shellWord(path.join(out, 'Modelfile'))}\n`);
    });
}

function shellWord(text: string): string { return /^[\w./:\\-]+$/.test(text) ? text : `"${text}"`; }
