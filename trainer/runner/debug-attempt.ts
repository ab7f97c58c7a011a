import { resolve } from 'node:path';
import type { RunnerConfig } from '../protocol/config.ts';
import type { DebugLaunch } from '../protocol/endpoints.ts';
import { TrainerError } from '../protocol/errors.ts';
import { longestTimeout } from '../protocol/rollout.ts';
import type { Store } from '../store/store.ts';
import type { AgentSpec } from './agent-spec.ts';
import { AttemptExecution, type Gateway } from './attempt.ts';
import { Connections } from './connections.ts';
import { DebuggedWorker } from './debugged-worker.ts';
import { workerCommand, type WorkerCommand } from './worker-command.ts';

/** How long the debugger may take until its worker calls. */
const arrivalSeconds = 120;

export interface DebugAttemptOptions {
  store: Store;
  run_id: string;
  agent: AgentSpec;
  gateway: Gateway;
  config: RunnerConfig;
  workspace: string;
  modelName: string;
  signal: AbortSignal;
  /** Told once everything waits for the worker. */
  onWaiting(launch: Omit<DebugLaunch, 'run_id' | 'rollout_id'>): void;
}

/**
 * Runs the one queued rollout of the run in a worker that somebody else starts. Its output stays with the debugger.
 * Throws TrainerError 'agent' when the agent cannot be loaded, 'cancelled' when nobody comes or the signal is aborted.
 */
export async function debugAttempt(options: DebugAttemptOptions): Promise<void> {
  const { store, run_id, agent, gateway, config, signal } = options;
  const workspace = resolve(options.workspace);
  const command = await workerCommand(agent, config, workspace);
  const connections = await Connections.listen();
  let execution: AttemptExecution | null = null;
  const worker = new DebuggedWorker(connections, { type: 'load', file: agent.file, name: agent.name, workspace, gateway: gateway.url, resources: [] }, (kind, span) => {
    if (execution?.attempt_id !== span.attempt_id) return;
    execution.spans[kind](span);
    execution.spans.flush();
  });
  const stop = (): void => worker.kill('', { kind: 'cancelled' });
  signal.addEventListener('abort', stop, { once: true });
  const late = setTimeout(stop, arrivalSeconds * 1000);
  try {
    options.onWaiting({ language: agent.language, ...launchOf(command, connections.address, worker.token) });
    if (signal.aborted) stop();
    await worker.ready;
    clearTimeout(late);
    const rollout = store.dequeueRollout(`${run_id}-debugger`, { run_id });
    if (!rollout) throw new TrainerError('cancelled', 'The rollout was cancelled before the debugger came to it.');
    execution = new AttemptExecution(store, rollout, worker);
    await execution.run(gateway, options.modelName, longestTimeout);
  } finally {
    clearTimeout(late);
    signal.removeEventListener('abort', stop);
    stop();
    connections.close();
  }
}

function launchOf({ command, cwd, env, interpreterArgs, program, runtime }: WorkerCommand, address: string, token: string): Omit<DebugLaunch, 'run_id' | 'rollout_id' | 'language'> {
  const wanted = { ...env, AGENT_TRAINER_SOCKET: address, AGENT_TRAINER_TOKEN: token };
  const names = new Set([...Object.keys(wanted), ...Object.keys(process.env)]);
  const differing = [...names].filter((name) => wanted[name as keyof typeof wanted] !== process.env[name]);
  return {
    command, cwd, program, runtime, interpreter_args: interpreterArgs,
    env: Object.fromEntries(differing.map((name) => [name, wanted[name as keyof typeof wanted] ?? null])),
  };
}
