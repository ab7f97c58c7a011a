import { TrainerError } from '../protocol/errors.ts';
import type { StartRun } from '../protocol/rpc.ts';
import type { Run } from '../protocol/run.ts';
import type { RunContext } from './session.ts';
import type { EditorModels } from './backends.ts';
import type { Prepared } from './prepared.ts';

export function prepareOptimize(request: StartRun, _workspace: string, _editor?: EditorModels): Prepared {
  throw new TrainerError('conflict', `Runs of kind ${request.kind} are being built.`);
}

export function resumeOptimize(run: Run, _request: StartRun, _context: RunContext, _editor?: EditorModels): Prepared {
  throw new TrainerError('conflict', `Run ${run.run_id} cannot be resumed yet.`);
}
