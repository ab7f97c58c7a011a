import { open, readdir, readFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { z } from 'zod';
import { DataConfig } from '../../trainer/protocol/config.ts';
import { nearestConfig } from '../runs/config-file.ts';
import type { Dataset } from './dataset.ts';
import { readDataset } from './dataset.ts';

const Config = z.looseObject({ agent: z.string(), data: DataConfig });
const readLimit = 1 << 21;

/** The datasets an agent is given: those of the agent-trainer.json above it that names it; without one, the only JSON Lines file beside it. */
export async function datasetsOf(file: string, agent: string, root: string | null): Promise<Dataset[]> {
  const folder = dirname(file);
  const paths = await configuredData(file, agent, root ?? folder) ?? await dataBeside(folder);
  const datasets: Dataset[] = [];
  for (const path of paths) {
    if (!path.endsWith('.jsonl')) continue;
    const text = await beginningOf(path);
    if (text !== null) datasets.push(readDataset(relative(folder, path).split(sep).join('/'), path, text));
  }
  return datasets;
}

/** null: no configuration that can be read names this agent. */
async function configuredData(file: string, agent: string, root: string): Promise<string[] | null> {
  const path = nearestConfig(file, root);
  if (path === null) return null;
  try {
    const config = Config.parse(JSON.parse(await readFile(path, 'utf8')));
    const colon = config.agent.lastIndexOf(':');
    const [named, name] = colon > 1 ? [config.agent.slice(0, colon), config.agent.slice(colon + 1)] : [config.agent, agent];
    if (resolve(dirname(path), named) !== file || name !== agent) return null;
    return [config.data.train, ...config.data.validation === undefined ? [] : [config.data.validation]].map((data) => resolve(dirname(path), data));
  } catch {
    return null; // a configuration being written; the schema in the editor says what is wrong with it
  }
}

async function dataBeside(folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const place of [folder, join(folder, 'data')]) {
    const names = await readdir(place).catch(() => []);
    found.push(...names.filter((name) => name.endsWith('.jsonl') && !basename(name).startsWith('.')).map((name) => join(place, name)));
  }
  return found.length === 1 ? found : [];
}

/** Up to two megabytes, cut at the end of a line; null: it cannot be read (the trainer will say so when it is needed). */
async function beginningOf(path: string): Promise<string | null> {
  try {
    const handle = await open(path);
    try {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(readLimit), 0, readLimit, 0);
      const text = buffer.toString('utf8', 0, bytesRead);
      return bytesRead < readLimit ? text : text.slice(0, text.lastIndexOf('\n') + 1);
    } finally {
      await handle.close();
    }
  } catch {
    return null;
  }
}
