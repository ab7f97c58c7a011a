import { closeSync, fstatSync, lstatSync, openSync, readdirSync, readSync } from 'node:fs';
import type { Dirent } from 'node:fs';
import { dirname, sep } from 'node:path';
import { isAgentFile } from '../agent-files.ts';
import { detect } from '../detect.ts';
import type { DetectedAgent } from '../detect.ts';
import { mayHoldAgent } from '../prefilter.ts';
import { Exclusion } from './exclusion.ts';
import type { Change, Look, ScanFolder, ScanResult } from './protocol.ts';

const sizeLimit = 1 << 20; // larger sources are generated
const sliceMs = 15;
const rememberedTexts = 20;

interface Known { mtimeMs: number; size: number; agents: DetectedAgent[] }

/**
 * Looks for agents in folders, files and texts. Reads synchronously, since it has a thread of its own, but in slices:
 * between two of them the thread answers what else is asked of it. What a file holds is read again when its time or size has changed.
 */
export class Scanner {
  private known = new Map<string, Known>();
  private readonly texts = new Map<string, { text: string; agents: DetectedAgent[] }>();
  private buffer = Buffer.allocUnsafe(sizeLimit);

  /** All agents of the folders. null: it was cancelled. */
  async scan(folders: ScanFolder[], isCancelled: () => boolean): Promise<ScanResult | null> {
    const next = new Map<string, Known>();
    const result: ScanResult = { files: 0, parsed: 0, found: [] };
    let sliceEnd = Date.now() + sliceMs;
    for (const path of filesOf(folders)) {
      const file = this.read(path);
      if (file !== null) {
        result.files++;
        if (file.isNew) result.parsed++;
        next.set(path, file.known);
        if (file.known.agents.length > 0) result.found.push({ path, agents: file.known.agents });
      }
      if (Date.now() < sliceEnd) continue;
      await new Promise((resolve) => { setImmediate(resolve); });
      if (isCancelled()) return null;
      sliceEnd = Date.now() + sliceMs;
    }
    this.known = next;
    return result;
  }

  /** What changed files and folders hold now. */
  look(folders: ScanFolder[], changes: Change[]): Look {
    const exclusions = folders.map((folder) => new Exclusion(folder));
    const look: Look = { found: [], gone: [] };
    for (const { path, text } of changes) {
      const exclusion = exclusionOf(path, exclusions);
      const entry = lstatSync(path, { throwIfNoEntry: false });
      if (exclusion === undefined || entry === undefined || !exclusion.includes(path, entry.isDirectory())) this.forget(path, look);
      else if (entry.isDirectory()) for (const inside of walk(path, exclusion, folders)) this.lookAt(inside, look);
      else if (!isAgentFile(path)) continue;
      else if (text !== null) look.found.push({ path, agents: this.detect(path, text) });
      else if (entry.isFile()) this.lookAt(path, look);
    }
    return look;
  }

  /** The agents of a text, which an editor may hold unsaved. */
  detect(fileName: string, text: string): DetectedAgent[] {
    const before = this.texts.get(fileName);
    if (before?.text === text) return before.agents;
    const agents = detect(fileName, text);
    this.texts.delete(fileName);
    this.texts.set(fileName, { text, agents });
    const oldest = this.texts.keys().next().value;
    if (this.texts.size > rememberedTexts && oldest !== undefined) this.texts.delete(oldest);
    return agents;
  }

  private lookAt(path: string, look: Look): void {
    const file = this.read(path);
    if (file === null) this.forget(path, look);
    else {
      this.known.set(path, file.known);
      look.found.push({ path, agents: file.known.agents });
    }
  }

  private forget(path: string, look: Look): void {
    look.gone.push(path);
    for (const known of this.known.keys()) if (known === path || known.startsWith(path + sep)) this.known.delete(known);
  }

  /** null: not readable, or removed while we looked: there is no agent to run there. */
  private read(path: string): { known: Known; isNew: boolean } | null {
    let descriptor: number;
    try {
      descriptor = openSync(path, 'r');
    } catch {
      return null;
    }
    try {
      const { mtimeMs, size } = fstatSync(descriptor);
      const before = this.known.get(path);
      if (before?.mtimeMs === mtimeMs && before.size === size) return { known: before, isNew: false };
      if (size > sizeLimit) return { known: { mtimeMs, size, agents: [] }, isNew: false };
      let length = 0;
      for (let more = 1; more > 0 && length < size; length += more) more = readSync(descriptor, this.buffer, length, size - length, length);
      // The words looked for are ASCII: bytes will do, and few files have to be decoded.
      if (!mayHoldAgent(this.buffer.toString('latin1', 0, length))) return { known: { mtimeMs, size, agents: [] }, isNew: false };
      return { known: { mtimeMs, size, agents: detect(path, this.buffer.toString('utf8', 0, length)) }, isNew: true };
    } catch {
      return null;
    } finally {
      closeSync(descriptor);
    }
  }
}

/** The folder that a path belongs to: the innermost. */
function exclusionOf(path: string, exclusions: Exclusion[]): Exclusion | undefined {
  return exclusions.filter(({ root }) => path === root || path.startsWith(root + sep)).sort((a, b) => b.root.length - a.root.length)[0];
}

function* filesOf(folders: ScanFolder[]): Generator<string> {
  for (const folder of folders) yield* walk(folder.path, new Exclusion(folder), folders);
}

/** The agent files below a folder. A workspace folder inside it has rules of its own and is left to them. Links are not followed. */
function* walk(start: string, exclusion: Exclusion, folders: ScanFolder[]): Generator<string> {
  const roots = new Set(folders.map(({ path }) => path));
  const open = [{ path: start, outer: start === exclusion.root ? undefined : exclusion.rulesDownTo(dirname(start)) }];
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    let entries: Dirent[];
    try {
      entries = readdirSync(folder.path, { withFileTypes: true });
    } catch {
      continue; // removed meanwhile, or not ours to read
    }
    const prefix = folder.path.endsWith(sep) ? folder.path : folder.path + sep;
    const names = new Set(entries.map((entry) => entry.name));
    const rules = names.has('.gitignore') || folder.outer === undefined ? exclusion.rulesIn(folder.path, folder.outer) : folder.outer;
    for (const entry of entries) {
      const isFolder = entry.isDirectory();
      if (!isFolder && !(entry.isFile() && isAgentFile(entry.name))) continue;
      const path = prefix + entry.name;
      if (roots.has(path) || exclusion.leavesOut(path, isFolder, rules, (name) => names.has(name))) continue;
      if (isFolder) open.push({ path, outer: rules });
      else yield path;
    }
  }
}
