// Sets up llama.cpp (node-llama-cpp) for the tests, once, in a cache folder outside the repository: as a dependency of the project
// it would bring its builds for every graphics card, 700 MB. Idempotent; the folder is renamed into place at the end.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from './cache-folder.mjs';

const version = '3.21.1';
const builds = { 'linux-x64': 'linux-x64', 'linux-arm64': 'linux-arm64', 'darwin-x64': 'mac-x64', 'darwin-arm64': 'mac-arm64-metal', 'win32-x64': 'win-x64', 'win32-arm64': 'win-arm64' };

/**
 * Where node-llama-cpp is, after installing it if need be.
 * @returns {{entry: string} | {missing: string}} the module to import, or one sentence saying why there is none
 */
export function setUpLlamaCpp() {
  const build = builds[`${process.platform}-${process.arch}`];
  if (build === undefined) return { missing: `node-llama-cpp has no build for ${process.platform}-${process.arch}.` };
  const folder = join(cacheFolder, `node-llama-cpp-${version}`);
  const entry = join(folder, 'node_modules', 'node-llama-cpp', 'dist', 'index.js');
  if (existsSync(entry)) return { entry };
  mkdirSync(cacheFolder, { recursive: true });
  const work = mkdtempSync(join(cacheFolder, 'installing-'));
  try {
    writeFileSync(join(work, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
    const packages = [`node-llama-cpp@${version}`, `@node-llama-cpp/${build}@${version}`];
    const flags = ['--omit=optional', '--omit=peer', '--ignore-scripts', '--no-audit', '--no-fund'];
    const result = spawnSync('npm', ['install', ...packages, ...flags], { cwd: work, encoding: 'utf8', shell: process.platform === 'win32' });
    if (result.status !== 0) return { missing: `node-llama-cpp could not be installed: ${(result.stderr ?? '').trim().split('\n').slice(-2).join(' ')}` };
    renameSync(work, folder);
    return { entry };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
