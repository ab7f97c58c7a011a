import { TrainerError } from '../../protocol/errors.ts';
import type { DecoderConfig } from '../decoder-config.ts';
import { openForReading } from '../file-bytes.ts';
import { configOfGguf, llama3Scaling } from './config.ts';
import { readGguf, readTensor } from './read.ts';
import { eosIdsOfGguf } from './tokenizer.ts';

/** The configuration of a model in a GGUF file. Throws TrainerError naming the file and what is not supported. */
export async function readGgufConfig(file: string): Promise<DecoderConfig> {
  const header = await readGguf(file);
  const config = { ...configOfGguf(header), eosIds: eosIdsOfGguf(header) };
  const tensor = header.tensors.get('rope_freqs.weight');
  if (!tensor) return config;
  const factors = new Float32Array(config.headDim / 2);
  if (tensor.shape.join() !== String(factors.length)) throw new TrainerError('bad_input', `${file}: tensor "rope_freqs.weight" has shape [${tensor.shape.join(', ')}] instead of [${factors.length}].`);
  const handle = await openForReading(file);
  try {
    await readTensor(handle, header, tensor, factors);
  } finally {
    await handle.close();
  }
  const { theta } = config.rope;
  if (factors.every((factor) => factor === 1)) return config;
  const scaling = llama3Scaling(factors, theta, config.contextLength);
  if (!scaling) throw new TrainerError('bad_input', `${file}: its rotary frequencies (rope_freqs.weight) are scaled in a way that is not supported; those of Llama 3 are.`);
  return { ...config, rope: { theta, scaling } };
}
