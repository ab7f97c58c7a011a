import { profiles } from '../engine/onnx/profile.ts';
import { TrainerError } from '../protocol/errors.ts';
import type { Provider } from '../protocol/providers.ts';
import type { DecoderConfig } from '../models/decoder-config.ts';
import { readAdapter } from '../models/adapter-folder.ts';
import { initialFactors } from '../models/lora.ts';
import { loadFrozen, loadModel } from '../models/model-folder.ts';
import { wholeModel, type PolicyWeights } from '../models/policy-weights.ts';
import type { AdapterStart, LoraStart } from './messages.ts';

/** The model in a folder (or GGUF file) as it is to be trained: itself, or with LoRA frozen beside fresh factors or those of an adapter. Throws TrainerError naming the file at fault, the field of an adapter that is not supported, or the format the provider cannot compute with. */
export async function loadPolicy(folder: string, provider: Provider, lora: LoraStart | AdapterStart | null): Promise<{ config: DecoderConfig; weights: PolicyWeights }> {
  if (!lora) {
    const { config, weights } = await loadModel(folder);
    return { config, weights: wholeModel(weights) };
  }
  const { base: type } = lora;
  const formats = provider === 'tensorflow' ? [] : profiles[provider].frozen;
  if (type !== 'float32' && !formats.includes(type)) throw new TrainerError('environment', `A base_dtype of "${type}" cannot be used with the provider "${provider}"${formats.length > 0 ? `, but ${formats.join(', ')} can` : ''}. Use "float32", or the provider "cpu".`);
  const { config, base } = await loadFrozen(folder, type);
  if (!('adapter' in lora)) return { config, weights: { trainable: initialFactors(config, lora, lora.seed), frozen: { base, lora } } };
  const { settings, factors } = await readAdapter(lora.adapter, config);
  return { config, weights: { trainable: factors, frozen: { base, lora: settings } } };
}
