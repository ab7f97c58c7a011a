import { tasksOfStep } from '../algorithms/batches.ts';
import type { Task } from '../datasets/tasks.ts';
import { TrainerError } from '../protocol/errors.ts';
import type { Candidate, Part, TaskResult } from '../protocol/optimize.ts';
import type { Prompt } from '../protocol/prompts.ts';
import { SearchOver, type Meter } from './meter.ts';
import { Pool, type Texts } from './pool.ts';
import { lead, scoreIn } from './scores.ts';

/** A rollout and what its LLM calls used. */
export type Measured = Omit<TaskResult, 'part' | 'replicate'> & { input_tokens: number; output_tokens: number };

/** A candidate's texts on the way to some tasks. `replicate` chooses the seed. */
export interface Trial { candidate_id: string; texts: Texts; part: Part; replicate: number }

/** Runs the agent. */
export interface Evaluator {
  /** The result of an earlier rollout that was the same in everything. */
  recall(trial: Trial, task: Task): Measured | null;
  /** One rollout per task, in the order of `tasks`. Rejects with a TrainerError when nothing works or on abort. */
  run(trial: Trial, tasks: readonly Task[], signal: AbortSignal): Promise<Measured[]>;
  /** What happened in a rollout, as text for the optimiser of at most about `limit` characters. */
  transcript(rollout_id: string, limit: number): string;
}

export interface LabOptions {
  prompts: readonly Prompt[];
  train: readonly Task[];
  /** Not empty, except for a search that only measures. */
  validation: readonly Task[];
  seed: number;
  evaluator: Evaluator;
  meter: Meter;
  /** Everything ends: the run was cancelled. */
  signal: AbortSignal;
  /** Candidates of this search from an earlier process, which it will propose again. */
  recorded?: readonly Candidate[];
  changed?: (candidate: Candidate) => void;
}

/** After this share of the validation tasks, and each further one, a candidate that falls behind is given up. */
const heat = 0.25;
/** But not from fewer tasks than this. */
const fewest = 5;
/** Rollouts shown to the optimiser at once, at most. */
const mostExamples = 12;

/** What a search works in: candidates, and the means to measure them within a budget. */
export class Lab {
  readonly prompts: readonly Prompt[];
  readonly train: readonly Task[];
  readonly validation: readonly Task[];
  readonly seed: number;
  readonly pool: Pool;
  readonly meter: Meter;
  readonly evaluator: Evaluator;
  readonly #signal: AbortSignal;
  readonly #end = new AbortController();
  #highest = 1;

  constructor({ prompts, train, validation, seed, evaluator, meter, signal, recorded, changed }: LabOptions) {
    this.prompts = prompts;
    this.train = train;
    // Heats run the first ones first, and files are often sorted.
    this.validation = validation.length === 0 ? [] : tasksOfStep(0, validation.length, validation.length, seed).map((position) => validation[position]!);
    this.seed = seed;
    this.evaluator = evaluator;
    this.meter = meter;
    this.#signal = signal;
    this.pool = new Pool({ spent: () => meter.spent, recorded, changed });
  }

  /** Aborted when the search must not go on; the report may. */
  get signal(): AbortSignal {
    return AbortSignal.any([this.#signal, this.#end.signal]);
  }

  /** Ends the search: what is under way is given up. */
  end(reason: SearchOver['reason']): void {
    if (!this.#end.signal.aborted) this.#end.abort(new SearchOver(reason));
  }

  throwIfOver(): void {
    if (this.#end.signal.aborted) throw this.#end.signal.reason;
  }

  /** The source as it is: the first candidate, and the one to beat. */
  source(): Candidate {
    return this.pool.byId('c0') ?? this.pool.add({ parents: [], origin: 'source', round: 0, texts: Object.fromEntries(this.prompts.map(({ prompt_id, text }) => [prompt_id, text])) });
  }

  /** Results of a candidate on tasks of a part, in their order; what has not been run yet is run. Throws SearchOver. */
  async evaluate(candidate: Candidate, part: Part, tasks: readonly Task[], replicate = 0): Promise<TaskResult[]> {
    this.throwIfOver();
    return this.#evaluate(candidate, part, tasks, replicate, { signal: this.signal, limited: true });
  }

  /** The same outside the budget and after the end of the search: what the report, or a person, asks for. */
  async measure(candidate: Candidate, part: Part, tasks: readonly Task[], replicate = 0): Promise<TaskResult[]> {
    return this.#evaluate(candidate, part, tasks, replicate, { signal: this.#signal, limited: false });
  }

  async #evaluate(candidate: Candidate, part: Part, tasks: readonly Task[], replicate: number, { signal, limited }: { signal: AbortSignal; limited: boolean }): Promise<TaskResult[]> {
    const trial: Trial = { candidate_id: candidate.candidate_id, texts: candidate.texts, part, replicate };
    const known = () => new Map(candidate.results.filter((result) => result.part === part && result.replicate === replicate).map((result) => [result.task_id, result]));
    let results = known();
    const recalled = tasks.filter((task) => !results.has(task.id)).flatMap((task) => this.evaluator.recall(trial, task) ?? []);
    if (recalled.length > 0) this.#record(candidate, trial, recalled, 0);
    results = known();
    const wanted = tasks.filter((task) => !results.has(task.id));
    if (wanted.length > 0) {
      if (limited) this.meter.require(wanted.length);
      const before = this.meter.spent.seconds;
      const measured = await this.evaluator.run(trial, wanted, signal).catch((error: unknown) => {
        if (limited) this.throwIfOver();
        throw error;
      });
      this.#record(candidate, trial, measured, this.meter.spent.seconds - before);
      results = known();
    }
    return tasks.map((task) => {
      const result = results.get(task.id);
      if (!result) throw new TrainerError('internal', `There is no result of task ${task.id}.`);
      return result;
    });
  }

  /**
   * Runs a candidate on the validation tasks, in heats, and keeps it; one that falls behind `rival`, its parent, by more than
   * the noise allows is dropped before all tasks are run. Returns whether it was kept.
   */
  async validate(candidate: Candidate, rival: Candidate | null): Promise<boolean> {
    const size = Math.max(fewest, Math.ceil(this.validation.length * heat));
    for (let done = size; ; done += size) {
      await this.evaluate(candidate, 'validation', this.validation.slice(0, done));
      if (done >= this.validation.length) break;
      if (!rival || candidate.pinned) continue;
      const { mean, error } = lead(candidate, rival, ['validation']);
      if (mean + error < 0) {
        this.pool.update(candidate, { status: 'dropped' });
        return false;
      }
    }
    this.pool.update(candidate, { status: 'kept' });
    return true;
  }

  /** Measures the source, which every candidate has to beat. Throws TrainerError 'bad_input' when no task gets a score: there is nothing to compare by. */
  async validateSource(): Promise<void> {
    const source = this.source();
    await this.validate(source, null);
    if (source.validation?.n === 0) throw new TrainerError('bad_input', `None of the ${this.validation.length} validation tasks got a score, so that no prompt can be told to be better: ${whyUnscored(source)}.`);
  }

  /** Results on a batch of training tasks, and others known of the candidate that lost reward, the latest first: they cost nothing and show more of its faults. */
  evidence({ results }: Candidate, batch: readonly TaskResult[]): TaskResult[] {
    const others = results.filter((result) => result.part === 'train' && !this.isPerfect(result.reward) && !batch.some(({ task_id }) => task_id === result.task_id));
    return [...batch, ...others.reverse().slice(0, Math.max(0, mostExamples - batch.length))];
  }

  /** Whether a candidate has been run on all validation tasks. */
  validated(candidate: Candidate): boolean {
    const run = new Set(candidate.results.flatMap(({ part, task_id }) => (part === 'validation' ? [task_id] : [])));
    return this.validation.every(({ id }) => run.has(id));
  }

  /** The best on all validation tasks; of equals the first. */
  best(): Candidate {
    const scored = this.pool.kept.filter((candidate) => this.validated(candidate) && candidate.validation?.mean_reward != null);
    return scored.reduce((best, candidate) => (candidate.validation!.mean_reward! > (best.validation?.mean_reward ?? -Infinity) ? candidate : best), this.source());
  }

  /** Whether a reward cannot be better: 1, unless higher ones have been seen. */
  isPerfect(reward: number | null): boolean {
    return reward !== null && reward >= this.#highest;
  }

  /** Whether the best candidate has nothing left to win. */
  get solved(): boolean {
    const best = this.best();
    return this.validated(best) && best.results.every(({ part, reward }) => part !== 'validation' || this.isPerfect(reward));
  }

  #record(candidate: Candidate, { part, replicate }: Trial, measured: readonly Measured[], seconds: number): void {
    for (const { input_tokens, output_tokens, ...result } of measured) {
      candidate.results.push({ ...result, part, replicate });
      if (result.reward !== null) this.#highest = Math.max(this.#highest, result.reward);
      this.meter.charge(result.cached ? { cached_rollouts: 1 } : { rollouts: 1, input_tokens, output_tokens }, candidate.cost);
    }
    candidate.cost.seconds += seconds;
    this.pool.update(candidate, { validation: scoreIn(candidate, 'validation'), test: scoreIn(candidate, 'test') });
  }
}

function whyUnscored({ results }: Candidate): string {
  const result = results.find(({ part }) => part === 'validation');
  return result?.outcome === 'unscored' ? 'the agent returned no number and emitted no reward' : `the first one ended as ${result?.outcome}${result?.reason ? ` (${result.reason})` : ''}`;
}
