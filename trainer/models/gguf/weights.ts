import { TrainerError } from '../../protocol/errors.ts';
import type { DecoderConfig } from '../decoder-config.ts';
import { openForReading } from '../file-bytes.ts';
import { parameterShapes } from '../parameters.ts';
import type { WeightFile } from '../weight-file.ts';
import { readGguf, readTensor, type GgufTensor } from './read.ts';
import { ggufName, stored } from './tensor-names.ts';

/** Opens the weights of a GGUF file: by their Hugging Face names, dequantised, in the order of rows that the graphs expect. */
export async function openGgufWeights(file: string, config: DecoderConfig): Promise<WeightFile> {
  const header = await readGguf(file);
  const tensors = new Map(header.tensors);
  tensors.delete('rope_freqs.weight'); // part of the configuration
  const parameters = new Map<string, GgufTensor>();
  for (const name of parameterShapes(config).keys()) {
    const tensor = tensors.get(ggufName(name, config));
    if (!tensor) throw new TrainerError('bad_input', `${file}: there is no tensor "${ggufName(name, config)}". The file is not a whole ${config.family} model.`);
    parameters.set(name, tensor);
    tensors.delete(tensor.name);
  }
  const handle = await openForReading(file);
  return {
    shapes: new Map([...parameters, ...tensors].map(([name, { shape }]) => [name, shape])),
    async read(name, into) {
      await readTensor(handle, header, parameters.get(name) as GgufTensor, into);
      stored(name, config).fromFile(into);
    },
    close: () => handle.close(),
  };
}
