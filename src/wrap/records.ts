import { z } from 'zod';
import { KeptFile } from '../state/kept-file.ts';
import type { WrapRecord } from './unwrap.ts';

const Piece = z.object({ at: z.number().int(), inserted: z.string(), removed: z.string(), before: z.string(), after: z.string() });
/** By file, relative to the workspace folder with forward slashes: what wrapping changed there. */
const RecordFile = z.object({ version: z.literal(1), files: z.record(z.string(), z.object({ imports: z.array(z.array(Piece)), agents: z.record(z.string(), z.array(Piece)) })) });
type RecordFile = z.infer<typeof RecordFile>;

/** What wrapping changed in the files of a workspace folder, kept in `.agent-trainer/wraps.json`. */
export class WrapRecords {
  private readonly kept: KeptFile<RecordFile>;

  private constructor(kept: KeptFile<RecordFile>) {
    this.kept = kept;
  }

  /** A file that cannot be read is set aside as wraps.json.bad, and told. */
  static async open(folder: string, warn: (message: string) => void): Promise<WrapRecords> {
    return new WrapRecords(await KeptFile.open<RecordFile>(folder, 'wraps.json', RecordFile, { version: 1, files: {} }, warn));
  }

  of(file: string): WrapRecord | undefined { return this.kept.data.files[file]; }

  async put(file: string, record: WrapRecord): Promise<void> {
    await this.kept.update(({ files }) => {
      if (Object.keys(record.agents).length > 0) files[file] = record;
      else delete files[file];
    });
  }
}
