import { existsSync, renameSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Low } from 'lowdb';
import { JSONFile } from 'lowdb/node';
import type { z } from 'zod';
import { messageOf, TrainerError } from '../../trainer/protocol/errors.ts';
import { t } from '../../trainer/protocol/l10n.ts';
import { stateFolder } from '../trainer/state-folder.ts';

/** A small JSON file in the state folder of a workspace folder. It is read once and written whole; the first write makes the folder. */
export class KeptFile<T> {
  private readonly path: string;
  private readonly db: Low<T>;

  private constructor(path: string, empty: T) {
    this.path = path;
    this.db = new Low(new JSONFile<T>(path), empty);
  }

  /** A file that cannot be read is set aside as `<name>.bad`, and told. */
  static async open<T>(folder: string, name: string, schema: z.ZodType<T>, empty: T, warn: (message: string) => void): Promise<KeptFile<T>> {
    const path = join(folder, stateFolder, name);
    const kept = new KeptFile(path, empty);
    try {
      await kept.db.read();
      kept.db.data = schema.parse(kept.db.data);
      return kept;
    } catch (error) {
      warn(`${path} could not be read and was set aside as ${name}.bad: ${messageOf(error)}`);
      if (existsSync(path)) renameSync(path, `${path}.bad`);
      return new KeptFile(path, empty);
    }
  }

  get data(): Readonly<T> { return this.db.data; }

  /** @throws TrainerError 'environment' when the folder cannot be written */
  async update(change: (data: T) => void): Promise<void> {
    try {
      await mkdir(dirname(this.path), { recursive: true });
      await this.db.update(change);
    } catch (error) {
      throw new TrainerError('environment', t('{0} cannot be written: {1}. Agent Trainer keeps its runs and notes in that folder; make it writable, or work on a copy.', this.path, messageOf(error)), { cause: error });
    }
  }
}
