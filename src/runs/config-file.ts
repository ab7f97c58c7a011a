import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { z } from 'zod';
import { DataConfig } from '../../trainer/protocol/config.ts';

const WithData = z.looseObject({ data: DataConfig });

export const configName = 'agent-trainer.json';

/** The agent-trainer.json nearest above a file, not beyond `root`; null if there is none. */
export function nearestConfig(file: string, root: string): string | null {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const candidate = join(folder, configName);
    if (existsSync(candidate)) return candidate;
    if (folder === root || folder === dirname(folder) || !folder.startsWith(root)) return null;
  }
}

/** The data file a configuration trains on, as an absolute path; null when the file does not say so in a form we can read (the trainer will say why). */
export async function trainingData(config: string): Promise<string | null> {
  try {
    const parsed = WithData.safeParse(JSON.parse(await readFile(config, 'utf8')));
    return parsed.success ? resolve(dirname(config), parsed.data.data.train) : null;
  } catch {
    return null;
  }
}

/** `path:name` of an agent as seen from a folder, with forward slashes. */
export function agentReference(file: string, name: string, folder: string): string {
  return `${relative(folder, file).split(sep).join('/')}:${name}`;
}

/** The text of a first configuration for an agent. Paths are relative to the folder it will be in. */
export function newConfig(agent: string, data: string, model: { path: string } | { endpoint: string }): string {
  return `${JSON.stringify({ agent, data: { train: data }, model, grpo: { steps: 30, train_batch_size: 16, group_size: 8 } }, null, 2)}\n`;
}
