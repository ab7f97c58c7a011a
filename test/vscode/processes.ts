import { readdirSync, readFileSync } from 'node:fs';

/** Ids of the processes below one, as Linux lists them. */
export function descendantsOf(pid: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    const parent = parentOf(name);
    if (parent !== null) children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const below = (of: number): number[] => (children.get(of) ?? []).flatMap((child) => [child, ...below(child)]);
  return below(pid);
}

export function isRunning(pid: number): boolean {
  return parentOf(String(pid)) !== null;
}

/** null: no process, or one that has ended and is only still listed. */
function parentOf(name: string): number | null {
  if (!/^\d+$/.test(name)) return null;
  try {
    const [, state, parent] = /^\d+ \(.*\) (\S) (\d+)/s.exec(readFileSync(`/proc/${name}/stat`, 'utf8')) ?? [];
    return state === undefined || state === 'Z' ? null : Number(parent);
  } catch {
    return null; // gone between the listing and the reading
  }
}
