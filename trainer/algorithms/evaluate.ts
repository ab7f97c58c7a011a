import type { Task } from '../datasets/tasks.ts';
import type { TaskScore } from '../evaluation/compare.ts';
import type { AttemptedRollout, Outcome, RolloutMode, SamplingOverrides } from '../protocol/rollout.ts';
import { isTerminal } from '../store/states.ts';
import { outcomeOf, requireWorking, rollOut, type RolloutPlan, type RolloutSource } from './rollouts.ts';
import { deriveSeed } from './seeds.ts';

export interface EvaluationSettings {
  /** Name of the side, e.g. 'before'; rollouts of the run that already carry it are taken over (a resumed run). */
  label: string;
  mode: RolloutMode;
  step: number | null;
  sampling: SamplingOverrides;
  /** Both sides of a comparison use the same, so that each task draws the same seeds. */
  seed: number;
}

export interface Evaluation {
  /** In the order of the tasks. */
  scores: TaskScore[];
  /** The counted rollout of each task. */
  rollouts: AttemptedRollout[];
  /** Seconds from the first rollout's start to the last one's end. */
  wall_s: number;
}

/** Failures of the agent: they count as reward 0 on every side of a comparison. */
const failures: ReadonlySet<Outcome> = new Set(['agent_error', 'timeout', 'context_overflow']);

/**
 * One rollout per task. A failure of the agent scores 0; one of the infrastructure is run once more and then, like an
 * unscored rollout, leaves the task without a score. Throws TrainerError 'environment' when that is so of every task.
 */
export async function evaluate(source: RolloutSource, tasks: Task[], settings: EvaluationSettings): Promise<Evaluation> {
  const byTask = finishedEarlier(source, settings);
  const run = async (wanted: Task[]): Promise<void> => {
    const rollouts = await rollOut(source, wanted.map((task) => planOf(task, settings)));
    wanted.forEach((task, i) => byTask.set(task.id, rollouts[i]!));
  };
  await run(tasks.filter((task) => !byTask.has(task.id)));
  await run(tasks.filter((task) => outcomeOf(byTask.get(task.id)!) === 'infra_error'));

  const rollouts = tasks.map((task) => byTask.get(task.id)!);
  requireWorking(rollouts);
  return {
    rollouts,
    scores: rollouts.map((rollout, i) => ({ task_id: tasks[i]!.id, reward: rewardOf(rollout) })),
    wall_s: rollouts.length === 0 ? 0 : Math.max(...rollouts.map((rollout) => rollout.end_time ?? 0)) - Math.min(...rollouts.map((rollout) => rollout.start_time)),
  };
}

/** What an evaluation wants said: tasks that failed and count as 0, tasks without a score. Empty when all were scored. */
export function evaluationNotices(name: string, evaluation: Evaluation): string[] {
  const failed = evaluation.rollouts.filter((rollout) => failures.has(outcomeOf(rollout)));
  const unscored = evaluation.rollouts.filter((rollout) => rewardOf(rollout) === null);
  const total = evaluation.rollouts.length;
  return [
    ...(failed.length === 0 ? [] : [`Evaluation ${name}: ${failed.length} of ${total} tasks failed and count as 0 (${countOutcomes(failed)}); the first: ${failed[0]?.rollout_id}, ${failed[0]?.attempt?.error ?? 'no reason given'}`]),
    ...(unscored.length === 0 ? [] : [`Evaluation ${name}: ${unscored.length} of ${total} tasks have no score and are left out (${countOutcomes(unscored)}); the first: ${unscored[0]?.rollout_id}, ${unscored[0]?.attempt?.error ?? 'no reason given'}`]),
  ];
}

function planOf(task: Task, settings: EvaluationSettings): RolloutPlan {
  const { label, mode, step, sampling, seed } = settings;
  return { task, mode, step, sampling, seed: deriveSeed(seed, 'evaluation', task.id), metadata: { evaluation: label } };
}

function finishedEarlier(source: RolloutSource, { label, mode }: EvaluationSettings): Map<string, AttemptedRollout> {
  const usable = source.store.listRollouts({ run_id: source.run_id, mode }).filter((rollout) =>
    rollout.metadata?.['evaluation'] === label && rollout.metadata['superseded'] !== true && isTerminal(rollout.status) && outcomeOf(rollout) !== 'cancelled');
  return new Map(usable.map((rollout) => [rollout.task_id ?? '', rollout]));
}

/** The score of a rollout: a failure of the agent counts as 0; null when it has none. */
export function rewardOf(rollout: AttemptedRollout): number | null {
  return failures.has(outcomeOf(rollout)) ? 0 : rollout.attempt?.reward ?? null;
}

function countOutcomes(rollouts: AttemptedRollout[]): string {
  const counts = new Map<Outcome, number>();
  for (const rollout of rollouts) counts.set(outcomeOf(rollout), (counts.get(outcomeOf(rollout)) ?? 0) + 1);
  return [...counts].map(([outcome, count]) => `${outcome} ${count}`).join(', ');
}
