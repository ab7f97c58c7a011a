import { existsSync, renameSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { JSONFilePreset } from 'lowdb/node';
import type { Low } from 'lowdb';
import { z } from 'zod';
import { stateFolder } from '../trainer/state-folder.ts';
import type { WrapRecord } from './unwrap.ts';

const Piece = z.object({ at: z.number().int(), inserted: z.string(), removed: z.string(), before: z.string(), after: z.string() });
/** By file, relative to the workspace folder with forward slashes: what wrapping changed there. */
const RecordFile = z.object({ version: z.literal(1), files: z.record(z.string(), z.object({ imports: z.array(z.array(Piece)), agents: z.record(z.string(), z.array(Piece)) })) });
type RecordFile = z.infer<typeof RecordFile>;

/** What wrapping changed in the files of a workspace folder, kept in `.agent-trainer/wraps.json`. */
export class WrapRecords {
  private readonly db: Low<RecordFile>;

  private constructor(db: Low<RecordFile>) {
    this.db = db;
  }

  /** A file that cannot be read is set aside as wraps.json.bad, and told. */
  static async open(folder: string, warn: (message: string) => void): Promise<WrapRecords> {
    const file = join(folder, stateFolder, 'wraps.json');
    await mkdir(join(folder, stateFolder), { recursive: true });
    try {
      const db = await JSONFilePreset<RecordFile>(file, { version: 1, files: {} });
      db.data = RecordFile.parse(db.data);
      return new WrapRecords(db);
    } catch (error) {
      warn(`${file} could not be read and was set aside as wraps.json.bad: ${error instanceof Error ? error.message : String(error)}`);
      if (existsSync(file)) renameSync(file, `${file}.bad`);
      return new WrapRecords(await JSONFilePreset<RecordFile>(file, { version: 1, files: {} }));
    }
  }

  of(file: string): WrapRecord | undefined { return this.db.data.files[file]; }

  async put(file: string, record: WrapRecord): Promise<void> {
    await this.db.update(({ files }) => {
      if (Object.keys(record.agents).length > 0) files[file] = record;
      else delete files[file];
    });
  }
}
