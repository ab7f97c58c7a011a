import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TrainerError } from '../protocol/errors.ts';

/** Where `runtime/` lies: beside the trainer, in the source tree as in the built package. */
export function runtimeFolder(): string {
  const start = dirname(fileURLToPath(import.meta.url));
  for (let folder = start; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'runtime', 'node', 'register.mjs'))) return join(folder, 'runtime');
    if (folder === dirname(folder)) throw new TrainerError('environment', `The folder runtime/ is missing beside ${start}. Install Agent Trainer again.`);
  }
}

/** The Node worker: built, or from the source tree. */
export function nodeWorkerFile(runtime: string): string {
  const built = join(runtime, 'node', 'worker.js');
  return existsSync(built) ? built : join(runtime, 'node', 'worker.ts');
}
