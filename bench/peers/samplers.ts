import path from 'node:path';
import { setUpLlamaCpp } from '../../scripts/llama-cpp.mjs';
import type { SamplingDtype } from '../../trainer/protocol/rollout.ts';
import { PeerProcess } from './peer-process.ts';
import { setUpPython } from './python.ts';

const here = (file: string) => path.join(import.meta.dirname, file);

/** Our sampler on a model folder, in a process of its own. */
export function ownSampler(folder: string, threads: number, dtype: SamplingDtype = 'float32'): PeerProcess {
  return new PeerProcess(process.execPath, ['--import', 'tsx', here('own-sampler.ts'), JSON.stringify({ folder, threads, dtype })], threads);
}

export function transformersSampler(folder: string, threads: number): PeerProcess {
  return new PeerProcess(setUpPython(), [here('transformers-sampler.py'), JSON.stringify({ folder, threads })], threads);
}

export function llamaCppSampler(file: string, threads: number): PeerProcess {
  const found = setUpLlamaCpp();
  if ('missing' in found) throw new Error(found.missing);
  return new PeerProcess(process.execPath, ['--import', 'tsx', here('llama-cpp-sampler.ts'), JSON.stringify({ entry: found.entry, file, threads })], threads);
}
