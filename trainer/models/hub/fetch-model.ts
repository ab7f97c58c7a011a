import { existsSync } from 'node:fs';
import { mkdir, statfs } from 'node:fs/promises';
import path from 'node:path';
import { TrainerError } from '../../protocol/errors.ts';
import { readJson } from '../config.ts';
import { parseConfig } from '../huggingface-config.ts';
import { HubCache } from './cache.ts';
import { cannotReach, HubClient, type HubFile, type HubListing } from './client.ts';
import { download } from './download.ts';
import { isHubReference, parseHubReference, type HubReference } from './reference.ts';

export interface FetchOptions {
  signal?: AbortSignal;
  /** Called as bytes arrive, of those that were not here yet. */
  onProgress?: (received: number, total: number) => void;
  /** Of an account at the hub; default: that of HF_TOKEN or of `hf auth login`. */
  token?: string | null;
}

const descriptions = ['config.json', 'generation_config.json', 'tokenizer.json', 'tokenizer_config.json', 'chat_template.jinja', 'special_tokens_map.json'];
const fetching = new Map<string, Promise<string>>();

/**
 * The path of a model: a path as it is, a reference to the hub (`hf:owner/name`) as the place in Hugging Face's cache, downloaded if it is not there.
 * A model that is there is used without asking the hub, so that a run goes on with the weights it began with. Throws TrainerError.
 */
export function fetchModel(model: string, options: FetchOptions = {}): Promise<string> {
  if (!isHubReference(model)) return Promise.resolve(model);
  const running = fetching.get(model);
  if (running) return running;
  const started = fetchFromHub(model, options).finally(() => fetching.delete(model));
  fetching.set(model, started);
  return started;
}

async function fetchFromHub(model: string, { signal = new AbortController().signal, onProgress, token = null }: FetchOptions): Promise<string> {
  const found = cachedModel(model);
  if (found !== null) return found;
  const reference = parseHubReference(model);
  const cache = new HubCache(reference.repository);
  const client = new HubClient(reference, signal, token);
  const listing = await client.list().catch((error: unknown) => {
    signal.throwIfAborted();
    throw error instanceof TrainerError ? error : cannotReach(reference.repository, error);
  });
  const files = chosenFiles(reference, listing);
  const missing = files.filter(({ hash }) => !existsSync(cache.blob(hash)));
  const total = missing.reduce((sum, { size }) => sum + size, 0);
  await requireRoom(path.dirname(cache.blob('')), total, reference);
  let received = 0;
  for (const file of missing) {
    await download(client, listing.commit, file, cache.blob(file.hash), { signal, onBytes: (count) => onProgress?.(received += count, total) });
    // Before the weights: a model that cannot be trained need not be downloaded.
    if (file.path === 'config.json') parseConfig(await readJson(cache.blob(file.hash)), `config.json of ${reference.repository}`);
  }
  return cache.link(listing.commit, reference, files);
}

/** The path of a model that is on this machine; null for a model of the hub that was not downloaded. */
export function cachedModel(model: string): string | null {
  if (!isHubReference(model)) return model;
  const reference = parseHubReference(model);
  return new HubCache(reference.repository).find(reference);
}

/** What a model needs, its weights last. Throws TrainerError `bad_input` when the hub has no weights in a form that can be read. */
function chosenFiles({ repository, file }: HubReference, { files }: HubListing): HubFile[] {
  const names = (test: (path: string) => boolean) => files.filter((candidate) => test(candidate.path));
  if (file !== null) {
    const [chosen] = names((name) => name === file);
    if (chosen) return [chosen];
  }
  const quantised = names((name) => name.endsWith('.gguf')).map((candidate) => candidate.path);
  const others = quantised.length > 0 ? ` Its GGUF files are ${quantised.map((name) => `hf:${repository}/${name}`).join(', ')}.` : '';
  if (file !== null) throw new TrainerError('not_found', `${repository} has no file ${file}.${others}`);
  const single = names((name) => name === 'model.safetensors');
  const weights = single.length > 0 ? single : names((name) => name === 'model.safetensors.index.json' || /^model-\d+-of-\d+\.safetensors$/.test(name));
  const known = descriptions.flatMap((name) => names((candidate) => candidate === name));
  const lacking = ['config.json', 'tokenizer.json'].find((name) => !known.some((candidate) => candidate.path === name)) ?? (weights.length === 0 ? 'model.safetensors' : undefined);
  if (lacking !== undefined) throw new TrainerError('bad_input', `${repository} cannot be used as it is: it has no ${lacking}.${others || ' Use a model with config.json, tokenizer.json and model.safetensors.'}`);
  return [...known, ...weights];
}

async function requireRoom(folder: string, bytes: number, { repository }: HubReference): Promise<void> {
  await mkdir(folder, { recursive: true });
  const { bavail, bsize } = await statfs(folder);
  const gigabytes = (n: number) => `${(n / 1e9).toFixed(1)} GB`;
  if (bytes > bavail * bsize) throw new TrainerError('environment', `${repository} takes ${gigabytes(bytes)}, and ${folder} has room for ${gigabytes(bavail * bsize)}. Make room, or set HF_HOME to a folder on another disk.`);
}
