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
import { modelOfText, withBackend, type ModelSource } from './backends.ts';
import { requireAgentAndData, runnersFor, withoutKey } from './dev-run.ts';
import { describeComparison } from './describe-comparison.ts';
import type { Prepared } from './prepared.ts';
import { notice, setPhase, type Session } from './session.ts';

interface EvalPlan {
  agent: AgentSpec;
  data: string;
  limit: number | undefined;
  policy: ModelSource;
  against: ModelSource | null;
  sampling: SamplingOverrides;
  runner: RunnerConfig;
  seed: number;
}

/** An evaluation of one policy, or of two on the same tasks with the same seeds. Throws TrainerError on a wrong request. */
export function prepareEval(request: StartRun, workspace: string): Prepared {
  const { agent, data, config } = requireAgentAndData(request, workspace);
  if (request.policy === undefined) throw new TrainerError('bad_input', 'An eval run needs "policy": a model folder, or the URL of an OpenAI-compatible server.');
  const plan: EvalPlan = {
    agent, data,
    limit: request.limit,
    policy: modelOfText(request.policy, workspace),
    against: request.against === undefined ? null : modelOfText(request.against, workspace),
    sampling: config?.config.eval_sampling ?? { temperature: 0 },
    runner: config?.config.runner ?? RunnerConfig.parse({}),
    seed: request.seed ?? config?.config.seed ?? 0,
  };
  return {
    agent: agentName(agent, workspace),
    config: { request, data, runner: plan.runner, seed: plan.seed, sampling: plan.sampling, policy: withoutKey(plan.policy), against: plan.against && withoutKey(plan.against) },
    execute: (session) => executeEval(session, plan),
  };
}

async function executeEval(session: Session, plan: EvalPlan): Promise<EvalResult> {
  const tasks = await loadTasks(plan.data, { limit: plan.limit });
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
