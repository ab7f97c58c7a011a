// A Python with OpenAI's SDK for the tests that use it, set up once in a cache folder outside the repository (20 MB).
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from './cache-folder.mjs';

const packages = ['openai==3.57.0', 'pydantic==2.14.4'];
const folder = join(cacheFolder, 'openai-python-3.57.0');
const python = process.platform === 'win32' ? 'python' : 'python3';

/** @returns {{python: string, path: string} | {missing: string}} an interpreter and the folder of its packages (PYTHONPATH), or one sentence saying why there is none */
export function findOpenAIPython() {
  if (existsSync(folder)) return { python, path: folder };
  mkdirSync(cacheFolder, { recursive: true });
  const work = `${folder}-${process.pid}`;
  const install = spawnSync(python, ['-m', 'pip', 'install', '--quiet', '--target', work, ...packages], { encoding: 'utf8' });
  if (install.status === 0) {
    if (existsSync(folder)) rmSync(work, { recursive: true }); // another process was faster
    else renameSync(work, folder);
    return { python, path: folder };
  }
  rmSync(work, { recursive: true, force: true }); // a half-made folder must not be found
  return { missing: `OpenAI's Python SDK could not be installed: ${(install.error?.message ?? install.stderr).trim().split('\n').slice(-1)[0]}` };
}
