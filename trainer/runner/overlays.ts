import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, utimesSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { messageOf, TrainerError } from '../protocol/errors.ts';
import type { SourceOverlayResource } from '../protocol/rollout.ts';
import type { Store } from '../store/store.ts';

/** JSON text of an object: the files a worker reads in place of others, by the path of the other. Equal texts, equal overlays. */
export type Overlay = string;

/** What tells a worker of its overlay. */
export function environmentOf(overlay: Overlay | null): Record<string, string> {
  return overlay === null ? {} : { AGENT_TRAINER_OVERLAY: overlay };
}

/** The overlays that rollouts ask for by their resources. */
export class Overlays {
  readonly #store: Pick<Store, 'getResources'>;
  readonly #folder: string;
  readonly #known = new Map<string, Overlay | null>();

  /** `folder` takes the copies, named by their content: whoever needs the same text finds it there. */
  constructor(store: Pick<Store, 'getResources'>, folder: string) {
    this.#store = store;
    this.#folder = folder;
  }

  /** The overlay in a bundle of resources, its files written; null when there is none. Throws TrainerError 'environment' when they cannot be written. */
  of(resources_id: string | null): Overlay | null {
    if (resources_id === null) return null;
    let overlay = this.#known.get(resources_id);
    if (overlay === undefined) this.#known.set(resources_id, overlay = this.#read(resources_id));
    return overlay;
  }

  #read(resources_id: string): Overlay | null {
    const resources = Object.values(this.#store.getResources(resources_id)?.resources ?? {});
    const files = resources.flatMap((resource) => (resource.resource_type === 'source_overlay' ? resource.files : []));
    if (files.length === 0) return null;
    const copies = files.map((file): [string, string] => [file.path, this.#copy(file)]);
    return JSON.stringify(Object.fromEntries(copies.sort(([a], [b]) => (a < b ? -1 : 1))));
  }

  #copy({ path, text }: SourceOverlayResource['files'][number]): string {
    const copy = join(this.#folder, createHash('sha256').update(text).digest('hex') + extname(path));
    try {
      if (existsSync(copy)) {
        utimesSync(copy, new Date(), new Date()); // used: it is not deleted soon
        return copy;
      }
      mkdirSync(this.#folder, { recursive: true });
      const temporary = `${copy}.${process.pid}`;
      writeFileSync(temporary, text);
      renameSync(temporary, copy); // another trainer must never find half a file
      return copy;
    } catch (error) {
      throw new TrainerError('environment', `The text that is to be tried in place of ${path} cannot be written to ${this.#folder} (${messageOf(error)}). Check that there is space and that the folder is writable.`, { cause: error });
    }
  }
}
