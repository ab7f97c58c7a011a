import { access, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { adapterBase, readAdapter, writeAdapter } from '../models/adapter-folder.ts';
import { readConfig } from '../models/config.ts';
import { hubNameOf } from '../models/hub/cache.ts';
import { isGguf } from '../models/gguf/read.ts';
import { writeWhole } from '../models/write-whole.ts';
import { TrainerError } from '../protocol/errors.ts';

export const peftTypes = ['f32'] as const;

/** Writes the LoRA adapter of a trained model, or of a checkpoint, as a folder that PEFT loads on top of the model it was trained on. Throws TrainerError `bad_input` when there is none. */
export async function exportPeft(source: string, folder: string): Promise<void> {
  const place = await adapterIn(source);
  const adapter = await readAdapter(place, await readConfig(source));
  const base = await adapterBase(place) as string;
  await writeWhole(folder, async (temporary) => {
    await mkdir(temporary, { recursive: true });
    await writeAdapter(temporary, adapter, hubNameOf(base) ?? base);
  });
}

async function adapterIn(source: string): Promise<string> {
  for (const place of isGguf(source) ? [] : [path.join(source, 'adapter'), source]) {
    if (await access(path.join(place, 'adapter_config.json')).then(() => true, () => false)) return place;
  }
  throw new TrainerError('bad_input', `${source} has no LoRA adapter: it was not trained with lora_rank above 0. Export the whole model with --format hf.`);
}
