/** What a search for models near an agent looks for. */
export const modelFiles = '**/{model.safetensors,model.safetensors.index.json,*.gguf}';

/** The model to train among files found: the nearest folder in Hugging Face layout (its weights whole or in shards), else the nearest GGUF file; null when there is neither. Paths with forward slashes. */
export function modelAmong(files: readonly string[]): string | null {
  const nearest = [...files].sort((a, b) => depth(a) - depth(b) || (a < b ? -1 : 1));
  const weights = nearest.find((file) => /(^|\/)model\.safetensors(\.index\.json)?$/.test(file));
  if (weights !== undefined) return weights.slice(0, Math.max(weights.lastIndexOf('/'), 0)) || '.';
  return nearest.find((file) => file.endsWith('.gguf')) ?? null;
}

function depth(file: string): number { return file.split('/').length; }
