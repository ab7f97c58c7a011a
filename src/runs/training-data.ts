import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { DataConfig } from '../../trainer/protocol/config.ts';

const WithData = z.looseObject({ data: DataConfig });

/** The data file a configuration trains on, as an absolute path; null when the file does not say so in a form we can read (the trainer will say why). */
export async function trainingData(config: string): Promise<string | null> {
  try {
    const parsed = WithData.safeParse(JSON.parse(await readFile(config, 'utf8')));
    return parsed.success ? resolve(dirname(config), parsed.data.data.train) : null;
  } catch {
    return null;
  }
}
