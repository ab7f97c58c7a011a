// Sets up a Python with ONNX Runtime and ONNX's own checker for the tests that read exported models, once, in a cache folder outside the
// repository (60 MB to download). AGENT_TRAINER_ONNX_PYTHON names an interpreter to take instead.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from './cache-folder.mjs';

const packages = ['onnx==1.23.2', 'onnxruntime==1.32.0', 'numpy==2.4.6'];
const folder = join(cacheFolder, 'onnxruntime-1.32.0');

/** @returns {{python: string} | {missing: string}} an interpreter that has them, after installing them if need be, or one sentence saying why there is none */
export function setUpOnnx() {
  const python = process.env.AGENT_TRAINER_ONNX_PYTHON || (process.platform === 'win32' ? join(folder, 'Scripts', 'python.exe') : join(folder, 'bin', 'python'));
  if (existsSync(python)) return { python };
  mkdirSync(cacheFolder, { recursive: true });
  for (const [command, ...args] of [[process.platform === 'win32' ? 'python' : 'python3', '-m', 'venv', folder], [python, '-m', 'pip', 'install', '--quiet', ...packages]]) {
    const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
    if (status === 0) continue;
    rmSync(folder, { recursive: true, force: true }); // a half-made environment must not be found
    return { missing: `ONNX Runtime for Python could not be installed: ${(stderr || error?.message || '').trim().split('\n').at(-1)}` };
  }
  return { python };
}
