import { t } from '../../trainer/protocol/l10n.ts';
import type { TrainerEvent, Waiting } from '../../trainer/protocol/rpc.ts';
import type { Run, StepMetrics } from '../../trainer/protocol/run.ts';

export interface Notice { level: 'info' | 'warning'; message: string }

/** Rollouts of the work in progress, as far as their events were seen. */
export interface RolloutCounts { ended: number; total: number }

/** What is known of one run. */
export interface RunEntry {
  run: Run;
  steps: StepMetrics[]; // by step
  notices: Notice[]; // the latest
  /** Of the present phase and step; null when nothing was seen yet. */
  rollouts: RolloutCounts | null;
  /** Nothing of it has moved for a while. */
  waiting: Waiting | null;
}

const keptNotices = 20;
const endedStatuses = new Set(['succeeded', 'failed', 'cancelled']);

export const isActive = (run: Run): boolean => run.status === 'pending' || run.status === 'running';

/** All runs of a trainer as its events tell them. A view of the trainer's state: it decides nothing. */
export class RunBook {
  readonly entries = new Map<string, RunEntry>();
  /** Rollout ids of the present work of each run: open or ended. */
  private readonly seen = new Map<string, { key: string; rollouts: Map<string, boolean> }>();
  onChanged: (run_id: string) => void = () => {};

  /** Newest first. */
  list(): RunEntry[] {
    return [...this.entries.values()].sort((a, b) => b.run.create_time - a.run.create_time);
  }

  active(): RunEntry[] {
    return this.list().filter((entry) => isActive(entry.run));
  }

  /** Takes a run over as the trainer describes it. */
  put(run: Run, steps?: StepMetrics[]): void {
    const known = this.entries.get(run.run_id);
    this.entries.set(run.run_id, { run, steps: steps ?? known?.steps ?? [], notices: known?.notices ?? [], rollouts: known?.rollouts ?? null, waiting: null });
    this.onChanged(run.run_id);
  }

  /** Takes over the answer to a start, unless events have told more of the run by now. */
  begin(run: Run): void {
    if (!this.entries.has(run.run_id)) this.put(run);
  }

  /** The trainer is gone: what was active is not any more. */
  interrupt(): void {
    for (const { run } of this.active()) this.put({ ...run, status: 'interrupted', error: t('The trainer ended under this run.') });
  }

  apply(event: TrainerEvent): void {
    if (event.type === 'run') {
      const known = this.entries.get(event.run.run_id);
      this.put(event.run);
      if (known !== undefined && known.run.phase !== event.run.phase) this.forgetRollouts(event.run.run_id);
      return;
    }
    if (event.type === 'run-deleted') {
      this.entries.delete(event.run_id);
      this.seen.delete(event.run_id);
      this.onChanged(event.run_id);
      return;
    }
    const run_id = event.run_id;
    const entry = run_id === null ? undefined : this.entries.get(run_id);
    if (run_id === null || entry === undefined) return;
    if (event.type === 'step') entry.steps = withStep(entry.steps, event.metrics);
    else if (event.type === 'notice' && event.waiting) entry.waiting = event.waiting;
    else if (event.type === 'notice') entry.notices = [...entry.notices, { level: event.level, message: event.message }].slice(-keptNotices);
    else if (event.type === 'rollout') this.count(run_id, entry, event.rollout);
    else return;
    if (event.type !== 'notice' || event.waiting === null) entry.waiting = null;
    this.onChanged(run_id);
  }

  private forgetRollouts(run_id: string): void {
    this.seen.delete(run_id);
    const entry = this.entries.get(run_id);
    if (entry !== undefined) entry.rollouts = null;
  }

  private count(run_id: string, entry: RunEntry, rollout: { rollout_id: string; step: number | null; mode: string | null; status: string }): void {
    const key = `${rollout.mode} ${rollout.step}`;
    let work = this.seen.get(run_id);
    if (work?.key !== key) {
      work = { key, rollouts: new Map() };
      this.seen.set(run_id, work);
    }
    work.rollouts.set(rollout.rollout_id, endedStatuses.has(rollout.status));
    entry.rollouts = { ended: [...work.rollouts.values()].filter(Boolean).length, total: work.rollouts.size };
  }
}

/** Steps in order; a step that comes again (after a resume) replaces the earlier one. */
export function withStep(steps: StepMetrics[], metrics: StepMetrics): StepMetrics[] {
  return [...steps.filter((step) => step.step !== metrics.step), metrics].sort((a, b) => a.step - b.step);
}
