import { z } from 'zod';
import { rollOut, summarise } from '../algorithms/rollouts.ts';
import { scoreOf } from '../evaluation/compare.ts';
import { RunnerConfig, TrainConfig } from '../protocol/config.ts';
import { TrainerError } from '../protocol/errors.ts';
import type { Replay } from '../protocol/replay.ts';
import type { AttemptedRollout } from '../protocol/rollout.ts';
import { StartRun } from '../protocol/rpc.ts';
import type { DevResult, Run } from '../protocol/run.ts';
import { attr, isLlmCall } from '../protocol/span.ts';
import { resolveAgent, type AgentSpec } from '../runner/agent-spec.ts';
import { agentName, withAgents } from './agents.ts';
import { modelOfConfig, modelOfText, withBackend, type ModelSource } from './backends.ts';
import { modelOfNearest, withoutKey } from './dev-run.ts';
import { loadConfig, nearestConfig } from './config-file.ts';
import type { Prepared } from './prepared.ts';
import { setPhase, type RunContext, type Session } from './session.ts';

type Request = Omit<Replay, 'attempt_id' | 'edits'> & { attempt_id?: string | undefined; edits?: Replay['edits'] | undefined };

interface ReplayPlan { agent: AgentSpec; model: ModelSource; runner: RunnerConfig; original: AttemptedRollout; replay: Replay }

/**
 * A run of one rollout: the agent and task of a recorded one again, continued from one of its LLM calls. What lies before
 * is answered from the record. Throws TrainerError when the record, the agent or the model is not there any more.
 */
export function prepareReplay(request: StartRun, asked: Request, { store, workspace }: RunContext): Prepared {
  const original = store.getRollout(asked.rollout_id);
  const run = original?.run_id == null ? undefined : store.getRun(original.run_id);
  if (!original || !run) throw new TrainerError('not_found', `There is no recorded rollout ${asked.rollout_id} of a run in this workspace.`);
  const attempt_id = asked.attempt_id ?? original.attempt?.attempt_id;
  const calls = attempt_id === undefined ? [] : store.listSpans(original.rollout_id, attempt_id).filter(isLlmCall);
  if (attempt_id === undefined || !calls.some((call, ordinal) => (call.attributes[attr.callIndex] ?? ordinal) === asked.call_index)) {
    throw new TrainerError('not_found', `Rollout ${original.rollout_id} has no LLM call number ${asked.call_index + 1} to continue from; it has ${calls.length}.`);
  }
  const agent = resolveAgent(run.agent, workspace);
  const { model, runner } = sourcesOf(run, request, agent, workspace);
  const replay: Replay = { rollout_id: original.rollout_id, attempt_id, call_index: asked.call_index, edits: asked.edits ?? [] };
  return {
    agent: agentName(agent, workspace),
    config: { request, runner, model: withoutKey(model), replay_of: { run_id: run.run_id, rollout_id: original.rollout_id, attempt_id } },
    execute: (session) => executeReplay(session, { agent, model, runner: { ...runner, n_runners: 1 }, original, replay }),
  };
}

async function executeReplay(session: Session, { agent, model, runner, original, replay }: ReplayPlan): Promise<DevResult> {
  const { store, run_id } = session;
  return withBackend(session, run_id, model, ({ modelName }) => withAgents(session, agent, runner, () => modelName, async (signal) => {
    setPhase(session, 'rollouts');
    const { input, task_id, mode, resources_id, config } = original;
    const rollouts = await rollOut({ store, run_id, backend: run_id, limits: { ...runner, max_attempts: 1 }, signal }, [{
      task: { id: task_id ?? original.rollout_id, input, line: 1 }, mode, step: null, resources_id, sampling: config.sampling, seed: config.seed, replay,
      metadata: { replay_of: { rollout_id: replay.rollout_id, attempt_id: replay.attempt_id, call_index: replay.call_index } },
    }]);
    const summaries = summarise(store, rollouts);
    return { run_id, rollouts: summaries, mean_reward: scoreOf(summaries.map((rollout) => rollout.reward)).mean_reward };
  }));
}

/** What `prepareDev`, `prepareEval` and `prepareTrain` wrote. */
const Stored = z.looseObject({ request: StartRun.optional(), runner: RunnerConfig.optional(), origin: z.looseObject({ folder: z.string() }).optional() });

/** The model of the run (a training run's: as it is now, trained if it finished) and the limits of its agents. */
function sourcesOf(run: Run, request: StartRun, agent: AgentSpec, workspace: string): { model: ModelSource; runner: RunnerConfig } {
  const stored = Stored.safeParse(run.config).data;
  const file = nearestConfig(agent.file);
  const config = file === null ? null : loadConfig(file);
  const runner = stored?.runner ?? config?.config.runner ?? RunnerConfig.parse({});
  const named = request.policy ?? stored?.request?.policy;
  if (named !== undefined) return { model: modelOfText(named, workspace), runner };
  const trained = z.object({ checkpoint: z.string() }).safeParse(run.result).data;
  if (trained) return { model: { kind: 'policy', folder: trained.checkpoint, threads: undefined, provider: undefined }, runner };
  if (run.kind === 'train' && stored?.origin) {
    const { origin, ...rest } = stored as { origin: { folder: string } };
    const train = TrainConfig.safeParse(rest).data;
    if (train) return { model: modelOfConfig(train, origin.folder), runner };
  }
  return { model: modelOfNearest(config, agent), runner };
}
