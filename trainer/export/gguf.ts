import { loadModel } from '../models/model-folder.ts';
import type { WrittenFormat } from '../models/gguf/blocks.ts';
import { saveGguf } from '../models/gguf/save.ts';
import { readTokenizerFiles } from '../models/tokenizer-files.ts';
import { writeWhole } from '../models/write-whole.ts';

export const ggufTypes = ['f16', 'q8_0', 'f32', 'bf16'] as const;
export type GgufType = (typeof ggufTypes)[number];

/** Writes a model, its tokenizer and its chat template as one file for llama.cpp and what is built on it. Throws TrainerError when llama.cpp has no such layout or tokenizer. */
export async function exportGguf(source: string, file: string, type: GgufType, name: string): Promise<void> {
  await writeWhole(file, async (temporary) => {
    const model = await loadModel(source);
    await saveGguf(temporary, { name, ...model, tokenizer: await readTokenizerFiles(source) }, type.toUpperCase() as WrittenFormat);
  });
}
