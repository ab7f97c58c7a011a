// A Python with PyTorch and transformers for the tests that compare with them, in a cache folder outside the repository.
// PyTorch for Linux brings CUDA, 5 GB in all, so that nothing sets it up by itself: run `node scripts/transformers.mjs`, or name an interpreter
// that has both in AGENT_TRAINER_TRANSFORMERS_PYTHON.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { cacheFolder } from './cache-folder.mjs';

const packages = ['torch==2.15.0', 'transformers==5.23.0', 'safetensors==0.8.0', 'gguf==0.19.0', 'peft==0.21.2'];
const folder = join(cacheFolder, 'transformers');
const interpreter = (venv) => (process.platform === 'win32' ? join(venv, 'Scripts', 'python.exe') : join(venv, 'bin', 'python'));

/** @returns {{python: string} | {missing: string}} an interpreter that has both, or one sentence saying why there is none */
export function findTransformers() {
  const named = process.env.AGENT_TRAINER_TRANSFORMERS_PYTHON;
  if (named) return { python: named };
  return existsSync(interpreter(folder)) ? { python: interpreter(folder) } : { missing: 'There is no Python with PyTorch and transformers; node scripts/transformers.mjs sets one up (5 GB).' };
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href && 'missing' in findTransformers()) {
  mkdirSync(cacheFolder, { recursive: true });
  rmSync(folder, { recursive: true, force: true });
  const run = (command, ...args) => {
    if (spawnSync(command, args, { stdio: 'inherit' }).status === 0) return;
    rmSync(folder, { recursive: true, force: true }); // a half-made environment must not be found
    process.exit(1);
  };
  run(process.platform === 'win32' ? 'python' : 'python3', '-m', 'venv', folder);
  run(interpreter(folder), '-m', 'pip', 'install', '--quiet', ...packages);
}
