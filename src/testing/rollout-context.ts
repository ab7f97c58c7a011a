const prefix = 'agentTrainer.rollout:'; // the manifest's menus look for it

/** A rollout as the context value of a test message, which outlives the window that made it. */
export function contextOf(run_id: string, rollout_id: string): string {
  return `${prefix}${run_id}/${rollout_id}`;
}

export function rolloutOf(context: string | undefined): { run_id: string; rollout_id: string } | null {
  if (context?.startsWith(prefix) !== true) return null;
  const [run_id, rollout_id] = context.slice(prefix.length).split('/');
  return run_id === undefined || rollout_id === undefined ? null : { run_id, rollout_id };
}
