import { rewardReason } from '../adapter/rewards.ts';
import { usageOf } from '../adapter/usage.ts';
import { rewardOf } from '../algorithms/evaluate.ts';
import { outcomeOf, requireWorking, rollOut, type RolloutSource } from '../algorithms/rollouts.ts';
import { deriveSeed } from '../algorithms/seeds.ts';
import { canonicalJson, sha256 } from '../datasets/canonical.ts';
import type { Task } from '../datasets/tasks.ts';
import type { Part } from '../protocol/optimize.ts';
import type { AttemptedRollout, Outcome, RolloutMode, SourceOverlayResource } from '../protocol/rollout.ts';
import type { Evaluator, Measured, Trial } from './lab.ts';
import type { Texts } from './pool.ts';
import { transcriptOf } from './transcript.ts';

export interface RolloutEvaluatorOptions {
  source: Omit<RolloutSource, 'signal'>;
  /** What besides texts, task and seed decides a rollout: the model and the agent's code. Rollouts of other runs that agree in it are taken over. */
  conditions: string;
  seed: number;
  /** The files that hold these texts in place of the source's; none when they are the source's. */
  overlay: (texts: Texts) => SourceOverlayResource['files'];
}

const modes: Record<Part, RolloutMode> = { train: 'train', validation: 'val', test: 'test' };

/** How a rollout must have ended to be worth taking over: the same would happen again. */
const lasting: ReadonlySet<Outcome> = new Set(['scored', 'unscored', 'agent_error', 'context_overflow', 'timeout']);

/** Measures candidates with rollouts of the agent, under source overlays. Its memory is the store: whatever was run once, by this run or another, is found there. */
export class RolloutEvaluator implements Evaluator {
  readonly #options: RolloutEvaluatorOptions;
  readonly #overlays = new Map<string, string | null>();

  constructor(options: RolloutEvaluatorOptions) {
    this.#options = options;
  }

  recall(trial: Trial, task: Task): Measured | null {
    const { store } = this.#options.source;
    const earlier = store.listRollouts({ cache_key: this.#key(trial, task), status_in: ['succeeded', 'failed'] }).find((rollout) => lasting.has(outcomeOf(rollout)));
    return earlier ? this.#measured(earlier, task) : null;
  }

  /** One rollout per task; one that failed for a reason outside the agent is run once more. Throws TrainerError 'environment' when that is so of all. */
  async run(trial: Trial, tasks: readonly Task[], signal: AbortSignal): Promise<Measured[]> {
    const byTask = new Map<Task, AttemptedRollout>();
    const run = async (wanted: readonly Task[]): Promise<void> => {
      const rollouts = await rollOut({ ...this.#options.source, signal }, wanted.map((task) => ({
        task, mode: modes[trial.part], step: null, sampling: {}, seed: this.#seed(trial, task), resources_id: this.#resources(trial.texts),
        metadata: { cache_key: this.#key(trial, task), candidate: trial.candidate_id },
      })));
      wanted.forEach((task, i) => byTask.set(task, rollouts[i]!));
    };
    await run(tasks);
    const broken = tasks.filter((task) => outcomeOf(byTask.get(task)!) === 'infra_error');
    if (broken.length > 0) await run(broken);
    requireWorking([...byTask.values()]);
    return tasks.map((task) => this.#measured(byTask.get(task)!, task));
  }

  transcript(rollout_id: string, limit: number): string {
    const { store } = this.#options.source;
    return transcriptOf(store.getRollout(rollout_id)?.input, store.listSpans(rollout_id), limit);
  }

  #measured(rollout: AttemptedRollout, { id }: Task): Measured {
    const { store, run_id } = this.#options.source;
    const spans = store.listSpans(rollout.rollout_id);
    const { input_tokens, output_tokens } = usageOf(spans);
    return {
      task_id: id, reward: rewardOf(rollout), outcome: outcomeOf(rollout), reason: rewardReason(spans) ?? rollout.attempt?.error ?? null,
      rollout_id: rollout.rollout_id, cached: rollout.run_id !== run_id, input_tokens: input_tokens ?? 0, output_tokens: output_tokens ?? 0,
    };
  }

  #key(trial: Trial, task: Task): string {
    return sha256(canonicalJson([this.#options.conditions, trial.texts, task.input, this.#seed(trial, task)]));
  }

  /** The same for every candidate: they are compared on the same draws. */
  #seed({ replicate }: Trial, { id }: Task): number {
    return deriveSeed(this.#options.seed, 'optimize', id, replicate);
  }

  /** The overlay as a bundle in the store, made once; null for the source as it is. */
  #resources(texts: Texts): string | null {
    const key = canonicalJson(texts);
    const known = this.#overlays.get(key);
    if (known !== undefined) return known;
    const files = this.#options.overlay(texts);
    const resources_id = files.length === 0 ? null : this.#options.source.store.addResources({ overlay: { resource_type: 'source_overlay', files } }).resources_id;
    this.#overlays.set(key, resources_id);
    return resources_id;
  }
}
