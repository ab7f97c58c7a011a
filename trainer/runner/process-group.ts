import { readdirSync, readFileSync } from 'node:fs';
import kill from 'tree-kill';

/** Ends a worker and what it started. The worker was started as leader of its own group; on Windows, by its process tree. */
export function killGroup(leader: number): void {
  if (process.platform === 'win32') {
    kill(leader, 'SIGKILL');
    return;
  }
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // ESRCH: nobody is left. EPERM (macOS): only zombies are.
  }
}

/** In the environment of a worker, and so of everything it starts: finds what has left the group. */
export const workerMark = 'AGENT_TRAINER_WORKER';

/** Ends the processes that carry this mark although they are not of the worker's group any more (daemons, new sessions). Linux only. */
export async function killStrays(mark: string): Promise<void> {
  if (process.platform !== 'linux') return;
  for (let strays = marked(mark); strays.length > 0; strays = marked(mark)) {
    for (const pid of strays) killOne(pid);
    await new Promise((resolve) => setTimeout(resolve, 5)); // as in groupGone; a stray may also have started another meanwhile
  }
}

function killOne(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended while we looked.
  }
}

function marked(mark: string): number[] {
  return processIds().filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(`${workerMark}=${mark}`); // empty for a zombie
    } catch {
      return false; // another user's, or ended while we looked
    }
  });
}

/** Resolves when no process of the group runs any more. */
export async function groupGone(leader: number): Promise<void> {
  if (process.platform === 'win32') return;
  // SIGKILL takes effect when the kernel gets to it, and nothing tells when: look until it has.
  while (isAlive(leader)) await new Promise((resolve) => setTimeout(resolve, 5));
}

function isAlive(leader: number): boolean {
  try {
    process.kill(-leader, 0);
  } catch {
    return false;
  }
  return process.platform !== 'linux' || membersOf(leader).length > 0;
}

/** Running processes of a group. Zombies do not count: in a container without an init nobody may ever collect them. Linux only. */
export function membersOf(leader: number): number[] {
  return processIds().filter((pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const [state, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' '); // the name before it may hold spaces
      return Number(group) === leader && state !== 'Z' && state !== 'X';
    } catch {
      return false; // ended while we looked
    }
  });
}

function processIds(): number[] {
  return readdirSync('/proc').filter((entry) => /^\d+$/.test(entry)).map(Number);
}
