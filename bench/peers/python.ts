import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { findTransformers } from '../../scripts/transformers.mjs';

const trl = ['trl==1.16.0', 'accelerate==1.15.0', 'datasets==5.2.0', 'peft==0.21.2'];
const scripts = path.join(import.meta.dirname, '..', '..', 'scripts');

/** A Python with PyTorch, transformers and TRL, installed into the user's cache on first use (5 GB). Throws when it cannot be had. */
export function setUpPython(): string {
  if ('missing' in findTransformers()) {
    process.stderr.write('Installing PyTorch and transformers, 5 GB …\n');
    spawnSync(process.execPath, [path.join(scripts, 'transformers.mjs')], { stdio: ['ignore', 2, 2] });
  }
  const found = findTransformers();
  if ('missing' in found) throw new Error(found.missing);
  if (spawnSync(found.python, ['-c', 'import trl']).status !== 0) {
    const installed = spawnSync(found.python, ['-m', 'pip', 'install', '--quiet', ...trl], { stdio: ['ignore', 2, 2] });
    if (installed.status !== 0) throw new Error(`TRL could not be installed. Install ${trl.join(', ')} into the environment of ${found.python}.`);
  }
  return found.python;
}
