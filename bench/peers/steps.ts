import path from 'node:path';
import { PeerProcess } from './peer-process.ts';
import { setUpPython } from './python.ts';

export interface StepOptions { folder: string; threads: number; lr: number }

const here = (file: string) => path.join(import.meta.dirname, file);

/** Our policy, in a process of its own. */
export function ownSteps(options: StepOptions): PeerProcess {
  return new PeerProcess(process.execPath, ['--import', 'tsx', here('own-steps.ts'), JSON.stringify(options)], options.threads);
}

// Of sdpa and eager attention, dynamic and static caches, these took least CPU time at 5 M (one thread).
const settings = { attention: 'sdpa', cache: 'static' };

export function trlSteps(options: StepOptions): PeerProcess {
  return new PeerProcess(setUpPython(), [here('trl-steps.py'), JSON.stringify({ ...options, ...settings })], options.threads);
}

export function pytorchSteps(options: StepOptions): PeerProcess {
  return new PeerProcess(setUpPython(), [here('pytorch-steps.py'), JSON.stringify({ ...options, ...settings })], options.threads);
}
