import { existsSync } from 'node:fs';
import path from 'node:path';
import { Checkpoints } from '../algorithms/checkpoints.ts';
import { TrainerError } from '../protocol/errors.ts';
import { namedModel } from '../policy/named-model.ts';
import { runFolder } from './session.ts';
import { checkpointFolder } from './train-run.ts';

/** The model that a name stands for: what a run has trained (its last checkpoint while it goes on), else a folder, GGUF file or model of the hub. Throws TrainerError `not_found`. */
export function trainedModel(name: string, workspace: string): string {
  const run = /^[\w-]+$/.test(name) ? runFolder(workspace, name) : null;
  if (run === null || !existsSync(run)) return namedModel(name, '.');
  const policy = path.join(run, 'policy');
  const trained = existsSync(policy) ? policy : new Checkpoints(checkpointFolder(run), 1).latest()?.folder;
  if (trained === undefined) throw new TrainerError('not_found', `Run ${name} has trained no model yet. Wait for its first checkpoint, or name a model folder.`);
  return trained;
}
