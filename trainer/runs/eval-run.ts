import path from 'node:path';
import { evaluate, evaluationNotices, type Evaluation } from '../algorithms/evaluate.ts';
import { summarise, type RolloutSource } from '../algorithms/rollouts.ts';
import { loadTasks, type Task } from '../datasets/tasks.ts';
import { compare, scoreOf } from '../evaluation/compare.ts';
import { RunnerConfig } from '../protocol/config.ts';
import { TrainerError } from '../protocol/errors.ts';
import type { SamplingOverrides } from '../protocol/rollout.ts';
import type { StartRun } from '../protocol/rpc.ts';
import type { EvalResult } from '../protocol/run.ts';
import type { AgentSpec } from '../runner/agent-spec.ts';
import { agentName, withAgents } from './agents.ts';
import { modelOfText, withBackend, type EditorModels, type ModelSource } from './backends.ts';
import { configFileName } from './config-file.ts';
import { modelOf, requireAgent, runnersFor, withoutKey, withoutSecret } from './dev-run.ts';
import { describeComparison } from './describe-comparison.ts';
import type { Prepared } from './prepared.ts';
import { notice, setPhase, type Session } from './session.ts';
import { loadValidation } from './train-data.ts';

interface EvalPlan {
  agent: AgentSpec;
  tasks: () => Promise<Task[]>;
  policy: ModelSource;
  against: ModelSource | null;
  sampling: SamplingOverrides;
  runner: RunnerConfig;
  seed: number;
}

/** An evaluation of one policy, or of two on the same tasks with the same seeds. Throws TrainerError on a wrong request. */
export function prepareEval(request: StartRun, workspace: string, editor?: EditorModels): Prepared {
  const { agent, named, config } = requireAgent(request, workspace);
  const data = request.data === undefined ? null : path.resolve(workspace, request.data);
  if (data === null && named === null) throw new TrainerError('bad_input', `An eval run needs "data" (--data FILE): a file of tasks, or "config_path": an ${configFileName} with validation tasks, in place of the agent on the command line.`);
  if (request.policy === undefined && request.model === undefined && named === null) throw new TrainerError('bad_input', 'An eval run needs "policy" (--policy P): a model folder, a GGUF file, hf:owner/name, or the URL of an OpenAI-compatible server.');
  const plan: EvalPlan = {
    agent,
    tasks: async () => chosen(data !== null ? await loadTasks(data) : (await loadValidation(named!.config, named!.folder)).tasks, request),
    policy: modelOf({ ...request, limit: request.task_ids?.length ?? request.limit }, { agent, config }, workspace, editor),
    against: request.against === undefined ? null : modelOfText(request.against, workspace),
    sampling: config?.config.eval_sampling ?? { temperature: 0 },
    runner: config?.config.runner ?? RunnerConfig.parse({}),
    seed: request.seed ?? config?.config.seed ?? 0,
  };
  return {
    agent: agentName(agent, workspace),
    config: { request: withoutSecret(request), data: data ?? named?.config.data, runner: plan.runner, seed: plan.seed, sampling: plan.sampling, policy: withoutKey(plan.policy), against: plan.against && withoutKey(plan.against) },
    execute: (session) => executeEval(session, plan),
  };
}

/** The tasks that are asked for, in their order. Throws TrainerError 'not_found' when there is no such task. */
function chosen(tasks: Task[], { task_ids, limit }: Pick<StartRun, 'task_ids' | 'limit'>): Task[] {
  if (task_ids === undefined) return tasks.slice(0, limit);
  const known = new Set(tasks.map((task) => task.id));
  const missing = task_ids.find((id) => !known.has(id));
  if (missing !== undefined) throw new TrainerError('not_found', `There is no task "${missing}" among the ${tasks.length} tasks to evaluate on. The tasks may have changed: list them again.`);
  const wanted = new Set(task_ids);
  return tasks.filter((task) => wanted.has(task.id)).slice(0, limit);
}

async function executeEval(session: Session, plan: EvalPlan): Promise<EvalResult> {
  const tasks = await plan.tasks();
  const policy = await evaluateSide(session, plan, 'policy', plan.policy, tasks);
  const { store, run_id } = session;
  if (!plan.against) return { run_id, policy: scoreOf(policy.scores.map(({ reward }) => reward)), against: null, difference: null, rollouts: summarise(store, policy.rollouts) };

  const against = await evaluateSide(session, plan, 'against', plan.against, tasks);
  const comparison = compare(against.scores, policy.scores, plan.seed);
  notice(session, 'info', describeComparison(comparison));
  return {
    run_id,
    policy: comparison.after,
    against: comparison.before,
    difference: comparison.difference,
    rollouts: summarise(store, [...policy.rollouts, ...against.rollouts]),
  };
}

/** One model at a time, so that two local policies need not fit into memory together. */
async function evaluateSide(session: Session, plan: EvalPlan, label: 'policy' | 'against', model: ModelSource, tasks: Task[]): Promise<Evaluation> {
  const { store, run_id } = session;
  const backend = `${run_id}/${label}`;
  return withBackend(session, backend, model, ({ modelName }) =>
    withAgents(session, plan.agent, runnersFor(plan.runner, tasks.length), () => modelName, async (signal) => {
      setPhase(session, 'rollouts');
      const source: RolloutSource = { store, run_id, backend, limits: plan.runner, signal };
      const evaluation = await evaluate(source, tasks, { label, mode: 'test', step: null, sampling: plan.sampling, seed: plan.seed });
      for (const message of evaluationNotices(label, evaluation)) notice(session, 'warning', message);
      return evaluation;
    }));
}
