import { setTimeout as sleep } from 'node:timers/promises';
import type { Trainer } from './trainer.ts';

const parentCheckMs = 1000;

/**
 * Resolves once a daemon's parent has gone and nobody needs it any more: no training run goes on (closing the window
 * does not stop one), and no other window is connected.
 */
export async function untilUnneeded({ runs, connections }: Pick<Trainer, 'runs' | 'connections'>, parentPid: number): Promise<void> {
  while (isAlive(parentPid)) await sleep(parentCheckMs);
  do {
    await connections.whenNone();
    await runs.whenNoTraining();
  } while (connections.clients.size > 0);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'; // it lives, but is not ours
  }
}
