import { z } from 'zod';
import { OptimizeAlgorithm } from './optimize.ts';
import type { CandidateStatus, Part } from './optimize.ts';
import type { Kept, RunHeader } from './views.ts';

/**
 * What the prompt-tuning page is sent and sends back. It draws these values and holds nothing but what is folded and being
 * typed. All text is plain text, never markup.
 */

/** A piece of a prompt; `variable`: the name of what stands there when the agent runs. */
export interface TextPart { text: string; variable: string | null }

export interface DiffPart { kind: 'same' | 'added' | 'removed'; text: string }

/** A prompt as it is in the source now. */
export interface PromptItem { prompt_id: string; name: string; /** `agent.py:12` */ place: string; parts: TextPart[]; chosen: boolean }

/** Limits of a search; null: none of that kind. */
export interface Limits { rollouts: number | null; tokens: number | null; usd: number | null; minutes: number | null }

export interface AlgorithmChoice { value: OptimizeAlgorithm; label: string; help: string }

/** A setting of one algorithm, by the name it has in a request. */
export interface SettingField { algorithm: OptimizeAlgorithm; key: string; label: string; help: string; value: number | boolean }

/** The next search as it would start now, every default filled in. */
export interface SetupView {
  algorithms: AlgorithmChoice[];
  algorithm: OptimizeAlgorithm;
  limits: Limits;
  /** US dollars per million tokens; asked for when money is limited. */
  prices: { input: number | null; output: number | null };
  /** Paths as people read them; null: none chosen, or split off the training tasks. */
  data: string | null;
  validation: string | null;
  test: string | null;
  model: string;
  optimizer: string;
  maxChars: number | null;
  defaultMaxChars: number;
  seed: number;
  fields: SettingField[];
  /** Why it cannot start yet. */
  problem: string | null;
  starting: boolean;
}

/** `unfinished`: the search ended while it was being tried. */
export type CandidateState = CandidateStatus | 'unfinished';

/** A candidate as a line of the search tree, in order, the first below nothing. */
export interface CandidateRow {
  candidate_id: string;
  title: string;
  level: number; // from 1
  position: number; // among its siblings, from 1
  siblings: number;
  state: CandidateState;
  /** The state and where the text came from. */
  note: string;
  score: string;
  wins: number;
  losses: number;
  best: boolean;
  pinned: boolean;
  applied: boolean;
  /** The critique it came from, or why it was rejected: shown on hover and focus. */
  hint: string;
}

export interface TaskRow {
  task_id: string;
  title: string;
  part: Part;
  baseline: string;
  candidate: string;
  /** open: one of the two has no score. */
  change: 'won' | 'lost' | 'same' | 'open';
  /** Why the candidate's score is what it is, as far as the agent said. */
  reason: string | null;
  rollout_id: string | null;
}

export interface CandidateText { prompt_id: string; name: string; place: string; text: string; /** null: as it is compared with. */ diff: DiffPart[] | null; parts: TextPart[] }

/** With what a candidate's text is compared: the source now, or the candidate it came from. */
export const DiffBase = z.enum(['source', 'parent']);
export type DiffBase = z.infer<typeof DiffBase>;

export interface CandidateDetail {
  candidate_id: string;
  title: string;
  facts: { label: string; value: string }[];
  critique: string | null;
  rejection: string | null;
  base: DiffBase;
  hasParent: boolean;
  texts: CandidateText[];
  tasks: TaskRow[];
  wins: number;
  losses: number;
  ties: number;
  pinned: boolean;
  /** What can be done with it now. */
  actions: { apply: boolean; pin: boolean; edit: boolean };
  applied: boolean;
}

/** A point of the score against cost curve. */
export interface CostPoint { candidate_id: string; x: number; y: number; state: CandidateStatus; best: boolean }

export interface CostChart { unit: string; limit: number | null; points: CostPoint[]; /** The best so far, as it rises. */ line: { x: number; y: number }[]; unitRange: boolean }

/** How a search ended, honestly. */
export interface Verdict { tone: 'good' | 'none' | 'odd'; title: string; text: string }

export interface SearchView {
  header: RunHeader;
  actions: { pause: boolean; resume: boolean; finish: boolean; stop: boolean };
  /** One for each limit: how much of it is used. */
  budget: { label: string; text: string; used: number }[];
  spent: string;
  waiting: string | null;
  verdict: Verdict | null;
  chart: CostChart;
  /** null: being read. */
  tree: CandidateRow[] | null;
  selected: CandidateDetail | null;
}

/** An earlier search of the agent. */
export interface HistoryItem { run_id: string; title: string; note: string; status: RunHeader['status']; shown: boolean; /** Its best text is in the source now. */ applied: boolean; apply: boolean; restore: boolean }

export interface PromptsView {
  /** In an untrusted workspace nothing runs. */
  trusted: boolean;
  agents: { value: string; label: string; place: string }[];
  agent: string | null;
  /** null: being read. */
  prompts: PromptItem[] | null;
  /** Why the prompts could not be read. */
  problem: string | null;
  setup: SetupView | null;
  /** The search that is shown in place of the set-up. */
  search: SearchView | null;
  history: HistoryItem[];
}

export type ToPrompts =
  | { type: 'view'; view: PromptsView; keep: Kept | null }
  /** A text written by hand was taken, or why it was not. */
  | { type: 'scored'; problem: string | null };

const limit = z.number().positive().nullable();

/** What a change of the set-up may be. */
export const SetupPatch = z.strictObject({
  algorithm: OptimizeAlgorithm,
  limits: z.strictObject({ rollouts: limit, tokens: limit, usd: limit, minutes: limit }).partial(),
  prices: z.strictObject({ input: z.number().min(0).nullable(), output: z.number().min(0).nullable() }).partial(),
  maxChars: z.number().int().min(1).nullable(),
  seed: z.number().int(),
  field: z.strictObject({ algorithm: OptimizeAlgorithm, key: z.string(), value: z.union([z.number(), z.boolean()]) }),
  prompt: z.strictObject({ prompt_id: z.string(), chosen: z.boolean() }),
}).partial();
export type SetupPatch = z.infer<typeof SetupPatch>;

const candidate = { run_id: z.string(), candidate_id: z.string() };

export const FromPrompts = z.discriminatedUnion('type', [
  z.object({ type: z.literal('ready') }),
  z.object({ type: z.literal('agent'), agent: z.string() }),
  z.object({ type: z.literal('setup'), patch: SetupPatch }),
  z.object({ type: z.literal('choose-data'), part: z.enum(['data', 'validation', 'test']) }),
  /** Tasks of this part are split off the data file again. */
  z.object({ type: z.literal('split-off'), part: z.enum(['validation', 'test']) }),
  z.object({ type: z.literal('choose-model'), of: z.enum(['agent', 'optimizer']) }),
  z.object({ type: z.literal('start') }),
  z.object({ type: z.literal('open-prompt'), prompt_id: z.string() }),
  z.object({ type: z.literal('select'), candidate_id: z.string() }),
  z.object({ type: z.literal('base'), base: DiffBase }),
  z.object({ type: z.literal('apply'), ...candidate }),
  z.object({ type: z.literal('pin'), ...candidate, pinned: z.boolean() }),
  /** A text written by hand, to be scored. */
  z.object({ type: z.literal('score'), ...candidate, texts: z.record(z.string(), z.string()) }),
  z.object({ type: z.enum(['finish', 'pause', 'resume', 'cancel']), run_id: z.string() }),
  /** null: none, the set-up of a new one. */
  z.object({ type: z.literal('show'), run_id: z.string().nullable() }),
  /** Of an earlier search: its best text, or the one it began with. */
  z.object({ type: z.literal('apply-run'), run_id: z.string(), which: z.enum(['best', 'original']) }),
  z.object({ type: z.literal('open-trace'), run_id: z.string(), rollout_id: z.string() }),
  z.object({ type: z.literal('find-agents') }),
  z.object({ type: z.literal('manage-trust') }),
]);
export type FromPrompts = z.infer<typeof FromPrompts>;
