import { z } from 'zod';
import type { FoundServer } from '../protocol/endpoints.ts';

const knownServers = [
  { name: 'Ollama', url: 'http://127.0.0.1:11434/v1' },
  { name: 'LM Studio', url: 'http://127.0.0.1:1234/v1' },
];
const patienceMs = 800;

const ModelList = z.looseObject({ data: z.array(z.looseObject({ id: z.string() })) });

/** Asks the usual ports of this machine for model servers. Who does not answer at once, or otherwise than a model server, is not one. */
export async function discoverServers(servers: readonly { name: string; url: string }[] = knownServers): Promise<FoundServer[]> {
  const found = await Promise.all(servers.map(async ({ name, url }): Promise<FoundServer[]> => {
    try {
      const response = await fetch(`${url}/models`, { signal: AbortSignal.timeout(patienceMs), redirect: 'error' });
      if (!response.ok) return [];
      return [{ name, url, models: ModelList.parse(await response.json()).data.map((model) => model.id) }];
    } catch {
      return [];
    }
  }));
  return found.flat();
}
