import { existsSync, readFileSync } from 'node:fs';
import { link, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import type { HubReference } from './reference.ts';

/**
 * The cache folder that Hugging Face's own libraries use, in their layout, so that a model is downloaded once for all programs:
 * blobs/<hash> holds contents, snapshots/<commit>/<file> links to them, refs/<revision> names the commit.
 */
export class HubCache {
  readonly #folder: string;

  constructor(repository: string) {
    const { HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME } = process.env;
    const root = HF_HUB_CACHE || path.join(HF_HOME || path.join(XDG_CACHE_HOME || path.join(homedir(), '.cache'), 'huggingface'), 'hub');
    this.#folder = path.join(root, `models--${repository.replace('/', '--')}`);
  }

  blob(hash: string): string { return path.join(this.#folder, 'blobs', hash); }

  /** Where the model is, if it is here as a whole: a folder, or the GGUF file that the reference names. */
  find({ revision, file }: HubReference): string | null {
    const reference = path.join(this.#folder, 'refs', revision);
    const commit = existsSync(reference) ? readFileSync(reference, 'utf8').trim() : revision;
    const snapshot = path.join(this.#folder, 'snapshots', path.basename(commit));
    if (file !== null) return existsSync(path.join(snapshot, file)) ? path.join(snapshot, file) : null;
    return isWhole(snapshot) ? snapshot : null;
  }

  /** Makes a snapshot of blobs that are all here; gives what `find` will. */
  async link(commit: string, { revision, file: chosen }: HubReference, files: readonly { path: string; hash: string }[]): Promise<string> {
    for (const file of files) {
      const target = path.join(this.#folder, 'snapshots', commit, file.path);
      await mkdir(path.dirname(target), { recursive: true });
      await rm(target, { force: true });
      // Windows lets few people make symbolic links.
      await symlink(path.relative(path.dirname(target), this.blob(file.hash)), target).catch(() => link(this.blob(file.hash), target));
    }
    if (revision !== commit) {
      await mkdir(path.join(this.#folder, 'refs'), { recursive: true });
      await writeFile(path.join(this.#folder, 'refs', revision), commit);
    }
    return path.join(this.#folder, 'snapshots', commit, chosen ?? '');
  }
}

/** The name (owner/name) of the model that a path in such a cache belongs to; null for other paths. */
export function hubNameOf(place: string): string | null {
  const [, owner, name] = /[/\\]models--(.+?)--([^/\\]+)[/\\]snapshots[/\\]/.exec(place) ?? [];
  return owner === undefined || name === undefined ? null : `${owner}/${name}`;
}

/** Other programs leave snapshots with the files they happened to need. */
function isWhole(snapshot: string): boolean {
  const has = (name: string) => existsSync(path.join(snapshot, name));
  if (!has('config.json') || !has('tokenizer.json')) return false;
  if (has('model.safetensors')) return true;
  const index = path.join(snapshot, 'model.safetensors.index.json');
  const shards = existsSync(index) ? readFileSync(index, 'utf8').match(/[^"/\\]+\.safetensors(?=")/g) ?? [] : [];
  return shards.length > 0 && shards.every(has);
}
