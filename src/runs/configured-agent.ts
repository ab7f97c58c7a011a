import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { z } from 'zod';

const WithAgent = z.looseObject({ agent: z.string().min(1) });

/** The agent a configuration names; its file as an absolute path. null when the file does not say so in a form we can read (the trainer will say why). */
export async function configuredAgent(config: string): Promise<{ file: string; name: string | null } | null> {
  try {
    const parsed = WithAgent.safeParse(JSON.parse(await readFile(config, 'utf8')));
    if (!parsed.success) return null;
    const { agent: reference } = parsed.data;
    const [, path = reference, name = null] = /^(.+?)(?::([^:/\\]+))?$/.exec(reference) ?? [];
    return { file: resolve(dirname(config), path), name };
  } catch {
    return null;
  }
}
