import { z } from 'zod';
import type { RunStatus } from './run.ts';

/**
 * What the extension sends its web pages, and what they send back. The pages are dumb: they draw these values and
 * hold nothing but what is selected. All text is plain text, never markup.
 */

/** A run's state in words and as a class for its colour. */
export interface RunHeader {
  run_id: string;
  title: string;
  status: RunStatus;
  /** One line: what it does, or how it ended. */
  statusText: string;
  /** Why it failed. */
  error: string | null;
  canCancel: boolean;
}

export interface Fact { label: string; value: string; note: string }

export interface FunnelRow { stage: string; count: number; /** of all LLM calls, 0…1; null: counts something else */ share: number | null; losses: { text: string; rollout_id: string | null }[] }

export interface Table { columns: { title: string; unit: string; help: string }[]; rows: string[][] }

export interface TrainingView {
  header: RunHeader | null; // null: no run yet
  /** done is 0…1, null while unknown. */
  progress: { done: number | null; text: string } | null;
  facts: Fact[];
  /** By training step, counted from 1. */
  curve: { step: number[]; reward: (number | null)[]; validation: (number | null)[] };
  funnel: { title: string; rows: FunnelRow[] } | null;
  table: Table;
  notices: { level: 'info' | 'warning'; message: string }[];
}

/** What a page stores, to be shown again after a reload of the window. */
export interface Kept { folder: string; run_id: string | null }

export type ToTraining = { type: 'view'; view: TrainingView; keep: Kept | null };

export const FromTraining = z.discriminatedUnion('type', [
  z.object({ type: z.literal('ready') }),
  z.object({ type: z.literal('train') }),
  z.object({ type: z.literal('cancel'), run_id: z.string() }),
  z.object({ type: z.literal('open-trace'), run_id: z.string(), rollout_id: z.string().nullable() }),
  z.object({ type: z.literal('show-log') }),
]);
export type FromTraining = z.infer<typeof FromTraining>;
