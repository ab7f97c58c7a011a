import path from 'node:path';
import { dryRun } from '../algorithms/dry-run.ts';
import { loadTasks } from '../datasets/tasks.ts';
import { RunnerConfig } from '../protocol/config.ts';
import { mostEditorTasks } from '../protocol/endpoints.ts';
import { TrainerError } from '../protocol/errors.ts';
import type { StartRun } from '../protocol/rpc.ts';
import type { DevResult } from '../protocol/run.ts';
import { resolveAgent, type AgentSpec } from '../runner/agent-spec.ts';
import { agentName, withAgents } from './agents.ts';
import { modelOfChoice, modelOfConfig, modelOfText, withBackend, type EditorModels, type ModelSource } from './backends.ts';
import { configFileName, loadConfig, nearestConfig, type LoadedConfig } from './config-file.ts';
import type { Prepared } from './prepared.ts';
import { setPhase, type Session } from './session.ts';

interface DevPlan { agent: AgentSpec; data: string; limit: number | undefined; model: ModelSource; runner: RunnerConfig; seed: number }

/** A dry run: the agent on the first tasks of a file. Throws TrainerError when the request is incomplete or wrong. */
export function prepareDev(request: StartRun, workspace: string, editor?: EditorModels): Prepared {
  const { agent, data, config } = requireAgentAndData(request, workspace);
  const plan: DevPlan = {
    agent, data,
    limit: request.limit,
    model: modelOf(request, { agent, config }, workspace, editor),
    runner: config?.config.runner ?? RunnerConfig.parse({}),
    seed: request.seed ?? config?.config.seed ?? 0,
  };
  return {
    agent: agentName(agent, workspace),
    config: { request: withoutSecret(request), data, runner: plan.runner, seed: plan.seed, model: withoutKey(plan.model) },
    execute: (session) => executeDev(session, plan),
  };
}

async function executeDev(session: Session, plan: DevPlan): Promise<DevResult> {
  const { store, run_id } = session;
  const tasks = await loadTasks(plan.data, { limit: plan.limit });
  return withBackend(session, run_id, plan.model, ({ modelName }) =>
    withAgents(session, plan.agent, runnersFor(plan.runner, tasks.length), () => modelName, (signal) => {
      setPhase(session, 'rollouts');
      return dryRun({ store, run_id, backend: run_id, limits: plan.runner, signal }, tasks, plan.seed);
    }));
}

/** The model that a request for a dry run names, else the one of the nearest configuration. */
export function modelOf({ model, policy, limit }: Pick<StartRun, 'model' | 'policy' | 'limit'>, { agent, config }: { agent: AgentSpec; config: LoadedConfig | null }, workspace: string, editor?: EditorModels): ModelSource {
  if (model && policy !== undefined) throw new TrainerError('bad_input', 'Give either "model" or "policy", not both.');
  if (model?.kind === 'editor' && (limit ?? Infinity) > mostEditorTasks) {
    throw new TrainerError('bad_input', `A model of the editor is for a few tasks by hand: give a "limit" of at most ${mostEditorTasks}. For more, run a model server.`);
  }
  if (model) return modelOfChoice(model, editor);
  return policy === undefined ? modelOfNearest(config, agent) : modelOfText(policy, workspace);
}

/** A request as it may be stored. */
export function withoutSecret<R extends Pick<StartRun, 'model'>>(request: R): R {
  if (request.model?.kind !== 'endpoint') return request;
  const { kind, url, name, api_key_env } = request.model;
  return { ...request, model: { kind, url, name, api_key_env } };
}

/** What a dry run needs of a request, and its configuration: the one it names, else the nearest to the agent, if there is one. */
export function requireAgentAndData(request: Pick<StartRun, 'kind' | 'agent' | 'data' | 'config_path'>, workspace: string): { agent: AgentSpec; data: string; config: LoadedConfig | null } {
  const { agent, named, config } = requireAgent(request, workspace);
  const data = request.data !== undefined ? path.resolve(workspace, request.data) : named && path.resolve(named.folder, named.config.data.train);
  if (data === null) throw new TrainerError('bad_input', `A ${request.kind} run needs "data" (--data FILE): a file of tasks.`);
  return { agent, data, config };
}

/** `named`: the configuration that the request names. */
export function requireAgent(request: Pick<StartRun, 'kind' | 'agent' | 'config_path'>, workspace: string): { agent: AgentSpec; named: LoadedConfig | null; config: LoadedConfig | null } {
  const named = request.config_path === undefined ? null : loadConfig(path.resolve(workspace, request.config_path));
  if (request.agent === undefined && named === null) throw new TrainerError('bad_input', `A ${request.kind} run needs "agent": path[:name] of the agent, or "config_path": an ${configFileName} that names it.`);
  const agent = request.agent !== undefined ? resolveAgent(request.agent, workspace) : resolveAgent(named!.config.agent, named!.folder);
  const file = named === null ? nearestConfig(agent.file) : null;
  return { agent, named, config: file === null ? named : loadConfig(file) };
}

/** No more workers than tasks. */
export function runnersFor(config: RunnerConfig, tasks: number): RunnerConfig {
  return { ...config, n_runners: Math.min(config.n_runners, tasks) };
}

/** A model as it may be stored: keys stay out of the database. */
export function withoutKey(model: ModelSource): Record<string, unknown> {
  if (model.kind === 'policy') return { ...model };
  if (model.kind === 'editor') return { kind: model.kind, name: model.name };
  return { kind: model.kind, url: model.url, model: model.model };
}

export function modelOfNearest(config: LoadedConfig | null, agent: AgentSpec): ModelSource {
  if (!config) throw new TrainerError('bad_input', `No model to run ${agent.file} with: give one with --policy (a model folder or the URL of an OpenAI-compatible server), or put an ${configFileName} beside the agent.`);
  return modelOfConfig(config.config, config.folder);
}
