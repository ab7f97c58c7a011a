import { TrainerError } from '../../protocol/errors.ts';
import type { DecoderConfig } from '../decoder-config.ts';
import { requireFloat16 } from '../half.ts';
import type { TokenizerFiles } from '../tokenizer-files.ts';
import type { ParameterBlock } from '../weights.ts';
import { blockFormats, type WrittenFormat } from './blocks.ts';
import { beyondLlamaCpp, configMetadata, llama3Factors } from './config.ts';
import { ggufName, stored } from './tensor-names.ts';
import { tokenizerMetadata } from './tokenizer-metadata.ts';
import { string, uint32, writeGguf, type TensorToWrite, type TypedValue } from './write.ts';

/** llama.cpp's numbers for the format of most tensors of a file. */
const fileTypes: Readonly<Record<WrittenFormat, number>> = { F32: 0, F16: 1, Q8_0: 7, BF16: 32 };

export interface ModelToSave { name: string; config: DecoderConfig; weights: ParameterBlock; tokenizer: TokenizerFiles }

/**
 * Writes a model as llama.cpp reads it: configuration, tokenizer, chat template and weights in one file.
 * Vectors stay float32, and so do matrices whose rows are no whole number of blocks. Throws TrainerError `bad_input` when llama.cpp has no such layout or tokenizer.
 */
export async function saveGguf(file: string, { name, config, weights, tokenizer }: ModelToSave, format: WrittenFormat): Promise<void> {
  const reason = beyondLlamaCpp(config);
  if (reason !== null) throw new TrainerError('bad_input', `${name} cannot be written as GGUF, since llama.cpp would compute something else: ${reason}. Export it as a Hugging Face folder.`);
  const metadata = new Map<string, TypedValue>([
    ...configMetadata(config), ['general.name', string(name)], ['general.file_type', uint32(fileTypes[format])], ['general.quantization_version', uint32(2)],
    ...tokenizerMetadata(tokenizer, config.vocab),
  ]);
  const tensors = [...weights.tensors].map(([parameter, { shape, data }]): TensorToWrite => {
    const kept = shape.length > 1 && (shape.at(-1) as number) % blockFormats[format]!.values === 0 ? format : 'F32';
    return {
      name: ggufName(parameter, config), shape, format: kept,
      values: () => {
        if (kept === 'F16') requireFloat16(name, parameter, data);
        if (kept === 'Q8_0') requireFloat16(name, parameter, data.map((value) => value / 127)); // the scales of its blocks
        const values = data.slice();
        stored(parameter, config).toFile(values);
        return values;
      },
    };
  });
  if (config.rope.scaling?.type === 'llama3') {
    const factors = llama3Factors(config.rope, config.headDim);
    tensors.push({ name: 'rope_freqs.weight', shape: [factors.length], format: 'F32', values: () => factors });
  }
  await writeGguf(file, metadata, tensors);
}
