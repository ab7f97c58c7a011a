import { z } from 'zod';
import { ChatMessage } from './chat.ts';
import { ChosenModel } from './endpoints.ts';
import { Prompt } from './prompts.ts';
import { Outcome } from './rollout.ts';
import { Difference, Score } from './run.ts';

export const OptimizeAlgorithm = z.enum(['gepa', 'apo', 'baseline']);
export type OptimizeAlgorithm = z.infer<typeof OptimizeAlgorithm>;

/** A search ends at the first that is used up. Absent = no such limit. */
export const Budget = z.strictObject({
  rollouts: z.number().int().min(1).optional().describe('Rollouts of the search and of the report; cached ones are free.'),
  tokens: z.number().int().min(1).optional().describe('Prompt and completion tokens, of agents and optimiser together.'),
  usd: z.number().positive().optional().describe('US dollars, by the prices in `prices`.'),
  minutes: z.number().positive().optional().describe('Minutes of wall time.'),
});
export type Budget = z.infer<typeof Budget>;

/** US dollars per million tokens. */
export const Prices = z.strictObject({ input: z.number().min(0), output: z.number().min(0) });
export type Prices = z.infer<typeof Prices>;

/** Defaults as in Agent Lightning v0.3. */
export const ApoConfig = z.strictObject({
  gradient_batch_size: z.number().int().min(1).default(4).describe('Training rollouts behind one critique.'),
  val_batch_size: z.number().int().min(1).default(16).describe('Validation tasks that compare the candidates of a round.'),
  beam_width: z.number().int().min(1).default(4).describe('Candidates kept after a round.'),
  branch_factor: z.number().int().min(1).default(4).describe('New candidates from each kept one.'),
  beam_rounds: z.number().int().min(1).default(3).describe('Rounds.'),
});
export type ApoConfig = z.infer<typeof ApoConfig>;

/** Defaults as in the gepa package. */
export const GepaConfig = z.strictObject({
  reflection_minibatch_size: z.number().int().min(1).default(3).describe('Training tasks a new candidate must do better on than its parent.'),
  use_merge: z.boolean().default(true).describe('Also join candidates that are best on different tasks (several prompts only).'),
  max_merge_invocations: z.number().int().min(0).default(5).describe('Accepted merges at most.'),
});
export type GepaConfig = z.infer<typeof GepaConfig>;

/** What `runs.start` with kind `optimize` is given beside agent, data, model, policy and seed. */
export const OptimizeRequest = z.strictObject({
  algorithm: OptimizeAlgorithm.default('gepa'),
  budget: Budget.default({ rollouts: 200 }),
  /** Tasks for selection and for the report; what is missing is split off the data file. */
  validation: z.string().optional(),
  test: z.string().optional(),
  /** Ids of the prompts to change; default: all that reach the agent. */
  prompts: z.array(z.string()).optional(),
  /** The model that criticises and rewrites; default: the agent's own. */
  optimizer: ChosenModel.optional(),
  prices: Prices.optional(),
  /** Longest prompt in characters; default: four times the longest of today, at least 2,000. */
  max_prompt_chars: z.number().int().min(1).optional(),
  apo: ApoConfig.prefault({}),
  gepa: GepaConfig.prefault({}),
});
export type OptimizeRequest = z.infer<typeof OptimizeRequest>;

export const OptimizeCost = z.object({
  rollouts: z.number().int(),
  cached_rollouts: z.number().int(),
  optimizer_calls: z.number().int(),
  input_tokens: z.number().int(),
  output_tokens: z.number().int(),
  /** null without prices. */
  usd: z.number().nullable(),
  seconds: z.number(),
});
export type OptimizeCost = z.infer<typeof OptimizeCost>;

/** train: what critiques are made from · validation: what selects · test: what is reported, never seen by the search. */
export const Part = z.enum(['train', 'validation', 'test']);
export type Part = z.infer<typeof Part>;

/** One rollout of a candidate on a task. */
export const TaskResult = z.object({
  part: Part,
  task_id: z.string(),
  /** 0; finalists may be run on a task again, with another seed: 1. */
  replicate: z.number().int(),
  /** null: no score, for the reason in `outcome`; a failure of the agent counts as 0. */
  reward: z.number().nullable(),
  outcome: Outcome,
  /** Why the reward is what it is, as the agent said, or the error. */
  reason: z.string().nullable(),
  rollout_id: z.string(),
  /** Made before, for another run. */
  cached: z.boolean(),
});
export type TaskResult = z.infer<typeof TaskResult>;

/**
 * proposed: being tried · rejected: broke a rule of `rejection` · dropped: did not beat its parent on the minibatch, or fell out
 * of the beam · kept: scored on validation and alive.
 */
export const CandidateStatus = z.enum(['proposed', 'rejected', 'dropped', 'kept']);
export type CandidateStatus = z.infer<typeof CandidateStatus>;

/** Why a text cannot be used; told to the optimiser, which may repair it. */
export const Rejection = z.object({ rule: z.enum(['variable-missing', 'variable-unknown', 'syntax', 'leak', 'too-long', 'unchanged', 'duplicate', 'no-answer']), prompt_id: z.string().nullable(), message: z.string() });
export type Rejection = z.infer<typeof Rejection>;

/** A complete set of prompt texts, where it came from, and what it scored. */
export const Candidate = z.object({
  /** `c0` is the source as it was; `h1`, `h2`, … are written by hand. */
  candidate_id: z.string(),
  /** One, or two of a merge. */
  parents: z.array(z.string()),
  origin: z.enum(['source', 'gradient', 'reflection', 'merge', 'hand']),
  round: z.number().int(),
  /** By prompt id, in the notation of Prompt.text. */
  texts: z.record(z.string(), z.string()),
  status: CandidateStatus,
  /** What the optimiser said was wrong with the parent. */
  critique: z.string().nullable(),
  /** Of the text that was not taken; or of the last one that was repaired. */
  rejection: Rejection.nullable(),
  /** Repairs that were asked for before it passed. */
  repairs: z.number().int(),
  /** On the training tasks it was proposed from: itself and its (better) parent. */
  minibatch: z.object({ parent: z.number().nullable(), child: z.number().nullable(), n: z.number().int() }).nullable(),
  /** Mean over the validation tasks it has run so far. */
  validation: Score.nullable(),
  /** On the held-out tasks: of c0 and of the winner, at the end. */
  test: Score.nullable(),
  results: z.array(TaskResult),
  /** Spent on it alone, and by the whole run when it was done: the x of the cost curve. */
  cost: OptimizeCost,
  spent: OptimizeCost,
  pinned: z.boolean(),
  create_time: z.number(),
});
export type Candidate = z.infer<typeof Candidate>;

/** The state of a search, live and afterwards. The candidates in the order they were proposed; `best` is selected on validation. */
export const Optimization = z.object({
  run_id: z.string(),
  algorithm: OptimizeAlgorithm,
  budget: Budget,
  prompts: z.array(Prompt),
  /** Ids of the tasks of each part. */
  parts: z.object({ train: z.array(z.string()), validation: z.array(z.string()), test: z.array(z.string()) }),
  candidates: z.array(Candidate),
  best: z.string(),
  spent: OptimizeCost,
  /** Why the search is over; null while it goes on. */
  stopped: z.enum(['finished', 'budget', 'stopped']).nullable(),
});
export type Optimization = z.infer<typeof Optimization>;

/** What the store keeps of a search beside its candidates. */
export const SearchRecord = Optimization.omit({ candidates: true }).extend({
  /** Of tasks and prompts: a resumed search must find them as they were. */
  fingerprint: z.string(),
});
export type SearchRecord = z.infer<typeof SearchRecord>;

/** What the optimiser was asked, and answered. */
export const OptimizerAnswer = z.object({
  /** Of the question. */
  key: z.string(),
  messages: z.array(ChatMessage),
  text: z.string(),
  input_tokens: z.number().int(),
  output_tokens: z.number().int(),
});
export type OptimizerAnswer = z.infer<typeof OptimizerAnswer>;

/** What the CLI prints with --json. Scores are those of the held-out part, which the search never saw. */
export const OptimizeResult = z.object({
  run_id: z.string(),
  baseline: z.object({ score: z.number().nullable(), n: z.number().int() }),
  best: z.object({
    score: z.number().nullable(), n: z.number().int(),
    candidate_id: z.string(),
    /** Its text; of the only, or else the first, prompt that was changed. */
    prompt: z.string(),
    prompts: z.record(z.string(), z.string()),
    /** The store's versioned copy of the prompts. */
    resources_id: z.string().nullable(),
  }),
  /** Paired over the test tasks; null when validation chose the source as it was, or fewer than two tasks were scored. */
  difference: Difference.nullable(),
  improved: z.boolean(), // the interval of the difference lies above 0
  stopped: z.enum(['finished', 'budget', 'stopped']),
  candidates: z.number().int(),
  rollouts: z.number().int(),
  cost: OptimizeCost,
});
export type OptimizeResult = z.infer<typeof OptimizeResult>;
