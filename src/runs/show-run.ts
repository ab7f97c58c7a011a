import type { Services } from '../services.ts';
import type { Workspace } from '../workspace.ts';

/** Shows a run where its kind belongs: training in its panel, a search for prompts in its own, others as traces. */
export async function showRun(services: Services, workspace: Workspace, run_id: string): Promise<void> {
  const kind = workspace.book.entries.get(run_id)?.run.kind;
  if (kind === 'train') services.training.show(workspace, run_id);
  else if (kind === 'optimize') await services.prompts.showRun(workspace, run_id);
  else await services.trace.show(workspace, run_id, null);
}
