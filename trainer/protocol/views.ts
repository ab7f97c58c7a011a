import { z } from 'zod';
import type { RolloutState } from './trace-views.ts';
import type { RunStatus } from './run.ts';

/**
 * What the extension sends its web pages, and what they send back. The pages are dumb: they draw these values and
 * hold nothing but what is selected. All text is plain text, never markup.
 */

/** A run's state in words and as a class for its colour. */
export interface RunHeader {
  run_id: string;
  title: string;
  status: RunStatus | 'paused';
  /** One line: what it does, or how it ended. */
  statusText: string;
  /** Why it failed. */
  error: string | null;
  canCancel: boolean;
}

export interface Fact { label: string; value: string; note: string }

/** `share`: height in the picture, 0…1. Rollouts are 1; calls begin at the share of rollouts that made one. */
export interface FunnelStage { title: string; count: number; unit: 'rollouts' | 'calls'; share: number }

/** What did not reach a stage; `stage` is that stage's index. Chosen by its index among the losses. */
export interface FunnelLoss { stage: number; reason: string; count: number; unit: 'rollouts' | 'calls'; rollouts: number }

export interface FunnelView { stages: FunnelStage[]; losses: FunnelLoss[] }

/** A rollout of a step as a small mark: `level` 0…1 is its reward among those of the step, null without one. */
export interface Sample { rollout_id: string; label: string; level: number | null; state: RolloutState; hint: string }

/** One training step in detail. */
export interface StepView {
  step: number;
  /** The steps there are, in order. */
  steps: number[];
  /** The newest step is shown as it comes. */
  follows: boolean;
  funnel: FunnelView;
  /** Index of the loss whose rollouts are chosen; null: all are. */
  loss: number | null;
  /** By task, those chosen; null while they are being read. */
  groups: { task: string; samples: Sample[] }[] | null;
}

export interface Table { columns: { title: string; unit: string; help: string }[]; rows: { step: number; cells: string[] }[] }

/** `color` is the index of the run's colour, the same in every chart. */
export interface ChartRun { run_id: string; title: string; note: string; color: number }

export interface Chart {
  key: string;
  title: string;
  unit: string;
  help: string;
  /** Of each run, by the steps of the charts: lines. */
  series: (number | null)[][];
  /** Of each run, held-out values: rings. */
  rings: (number | null)[][];
  /** Between 0 and 1 as a rule: the axis begins and ends there. */
  unitRange: boolean;
}

/** The charts of one or several runs over the same steps, which count from 1; 0 is before training. */
export interface ChartsView { steps: number[]; runs: ChartRun[]; charts: Chart[] }

/** What can be done with the run now. */
export interface RunActions { pause: boolean; resume: boolean; stop: boolean; /** rollouts at a time; null: cannot be changed */ runners: number | null }

export interface TrainingView {
  header: RunHeader | null; // null: no run yet
  /** done is 0…1, null while unknown. */
  progress: { done: number | null; text: string } | null;
  facts: Fact[];
  actions: RunActions;
  /** What it waits for, when nothing has moved for a while. */
  waiting: string | null;
  charts: ChartsView;
  step: StepView | null;
  table: Table;
  notices: { level: 'info' | 'warning'; message: string }[];
}

/** What a page stores, to be shown again after a reload of the window. */
export interface Kept { folder: string; run_id: string | null }

export type ToTraining = { type: 'view'; view: TrainingView; keep: Kept | null };

export const FromTraining = z.discriminatedUnion('type', [
  z.object({ type: z.literal('ready') }),
  z.object({ type: z.literal('train') }),
  z.object({ type: z.enum(['cancel', 'pause', 'resume']), run_id: z.string() }),
  z.object({ type: z.literal('runners'), run_id: z.string(), n: z.number().int().min(1) }),
  /** null: the newest, as it comes. */
  z.object({ type: z.literal('step'), step: z.number().int().nullable() }),
  z.object({ type: z.literal('loss'), loss: z.number().int().nullable() }),
  z.object({ type: z.literal('compare') }),
  z.object({ type: z.literal('leave-out'), run_id: z.string() }),
  z.object({ type: z.literal('open-trace'), run_id: z.string(), rollout_id: z.string().nullable() }),
  z.object({ type: z.literal('show-log') }),
]);
export type FromTraining = z.infer<typeof FromTraining>;
