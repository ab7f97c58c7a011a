import path from 'node:path';
import type { RunnerConfig } from '../protocol/config.ts';
import { Runner } from '../runner/runner.ts';
import type { AgentSpec } from '../runner/agent-spec.ts';
import type { Session } from './session.ts';

/** How a run names its agent: path[:name], relative to the workspace. */
export function agentName(agent: AgentSpec, workspace: string): string {
  const file = path.relative(workspace, agent.file).split(path.sep).join('/');
  return agent.name === null ? file : `${file}:${agent.name}`;
}

/**
 * The agent's processes work off the run's rollouts while `use` runs; they are gone when this returns or throws.
 * `use` gets the signal that stops it: the run was stopped, or the processes cannot go on.
 */
export async function withAgents<T>(session: Session, agent: AgentSpec, config: RunnerConfig, modelName: () => string, use: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { store, run_id, workspace, gatewayUrl, gatewayKey, control } = session;
  const broken = new AbortController();
  const n_runners = control.runners ?? config.n_runners;
  const runner = new Runner({ store, run_id, agent, gateway: { url: gatewayUrl, key: gatewayKey }, config: { ...config, n_runners }, workspace, modelName, onError: (error) => broken.abort(error) });
  control.steer(runner, n_runners);
  try {
    await runner.start();
    return await use(AbortSignal.any([session.signal, broken.signal]));
  } catch (error) {
    throw broken.signal.aborted ? broken.signal.reason : error;
  } finally {
    store.cancelRollouts({ run_id }); // before the workers go: a rollout in flight was cancelled, it did not fail
    await runner.stop();
  }
}
