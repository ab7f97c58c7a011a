import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import path from 'node:path';
import { messageOf, TrainerError } from '../../protocol/errors.ts';
import type { TensorFlow } from './types.ts';

export const tensorFlowPackage = '@tensorflow/tfjs-node-gpu';
export const tensorFlowVersion = '4.22.0';

/** Where `agent-trainer hardware --install tensorflow` puts packages: of the user, so that updates of the trainer keep them. */
export function packagesFolder(): string {
  const { XDG_DATA_HOME, LOCALAPPDATA } = process.env;
  const data = process.platform === 'win32' ? LOCALAPPDATA || path.join(homedir(), 'AppData', 'Local') : XDG_DATA_HOME || path.join(homedir(), '.local', 'share');
  return path.join(data, 'agent-trainer', 'packages');
}

let loaded: TensorFlow | undefined;

/**
 * TensorFlow.js with its native GPU backend, which is not part of an installation of the trainer.
 * Throws `environment` when it is not installed, cannot be loaded, or finds no GPU: it would compute on the CPU then, without a word.
 */
export async function loadTensorFlow(): Promise<TensorFlow> {
  if (loaded) return loaded;
  const tf = requirePackage();
  await tf.ready();
  const { isUsingGpuDevice } = tf.backend() as { isUsingGpuDevice?: boolean };
  if (isUsingGpuDevice !== true) {
    throw new TrainerError('environment', `${tensorFlowPackage} is installed but uses no GPU: it needs an NVIDIA GPU with CUDA 11.2 or newer of CUDA 11 and cuDNN 8 (libcudart.so.11.0 and libcudnn.so.8 where the system finds libraries). Other versions of CUDA do not do: use the provider "cuda" or "webgpu" with them.`);
  }
  return (loaded = tf);
}

/** The file of the installed package; null when there is none. */
export function findTensorFlow(): string | null {
  for (const place of [import.meta.url, path.join(packagesFolder(), 'package.json')]) {
    try {
      return createRequire(place).resolve(tensorFlowPackage);
    } catch {
      // not there
    }
  }
  return null;
}

function requirePackage(): TensorFlow {
  const file = findTensorFlow();
  if (file === null) throw new TrainerError('environment', `${tensorFlowPackage} is not installed. "agent-trainer hardware --install tensorflow" installs it, where an NVIDIA GPU with CUDA 11 and cuDNN 8 is at hand.`);
  try {
    return createRequire(file)(file) as TensorFlow;
  } catch (cause) {
    throw new TrainerError('environment', `${tensorFlowPackage} is installed in ${path.dirname(file)} but cannot be loaded: ${messageOf(cause).split('\n')[0]}`, { cause });
  }
}
