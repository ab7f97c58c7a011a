import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';

/** Which trainer drives a run: several may share a workspace, and none may take another's run for dead. */
const Owner = z.object({
  pid: z.number().int(),
  /** When the process started, in the kernel's own unit; null where it cannot be told. Tells a reused pid apart. */
  process_start: z.string().nullable(),
  /** Distinguishes managers of one process. */
  manager: z.string(),
});
type Owner = z.infer<typeof Owner>;

const fileName = 'owner.json';
const managersOfThisProcess = new Set<string>();

/** Registers a manager of this process; its runs count as alive until `retireManager`. */
export function newManager(): string {
  const manager = randomBytes(8).toString('hex');
  managersOfThisProcess.add(manager);
  return manager;
}

export function retireManager(manager: string): void {
  managersOfThisProcess.delete(manager);
}

/** Writes down that `manager` drives the run whose files are in `folder`. */
export function claim(folder: string, manager: string): void {
  mkdirSync(folder, { recursive: true });
  const owner: Owner = { pid: process.pid, process_start: processStart(process.pid), manager };
  const temporary = path.join(folder, `.${fileName}.${manager}`);
  writeFileSync(temporary, JSON.stringify(owner));
  renameSync(temporary, path.join(folder, fileName));
}

/** The process id of the trainer that drives the run now; null when it is dead or was never written down. */
export function livingOwner(folder: string): number | null {
  let owner: Owner;
  try {
    owner = Owner.parse(JSON.parse(readFileSync(path.join(folder, fileName), 'utf8')));
  } catch {
    return null; // no file, or not ours: nobody who could be asked
  }
  if (owner.pid === process.pid) return managersOfThisProcess.has(owner.manager) ? owner.pid : null;
  return isAlive(owner.pid) && processStart(owner.pid) === owner.process_start ? owner.pid : null;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'; // there, but another user's
  }
}

function processStart(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8'); // Linux
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null; // field 22: starttime; the name in brackets may hold blanks
  } catch {
    return null;
  }
}
