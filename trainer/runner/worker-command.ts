import { delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { RunnerConfig } from '../protocol/config.ts';
import type { AgentSpec } from './agent-spec.ts';
import { findNode, findPython } from './interpreters.ts';
import { nodeWorkerFile, runtimeFolder } from './runtime-files.ts';

/** How to start a worker. */
export interface WorkerCommand { command: string; args: string[]; cwd: string; env: Record<string, string | undefined> }

/** Finds the interpreter for the agent. Throws TrainerError 'environment'. */
export async function workerCommand(agent: AgentSpec, config: RunnerConfig, workspace: string): Promise<WorkerCommand> {
  const runtime = runtimeFolder();
  // VS Code sets ELECTRON_RUN_AS_NODE for the trainer alone; in the agent's hands it would change what Electron programs do.
  const env: WorkerCommand['env'] = { ...process.env, ELECTRON_RUN_AS_NODE: undefined, ...config.env };
  if (agent.language === 'python') {
    const { command } = await findPython(config.python, workspace);
    const path = [join(runtime, 'python'), env.PYTHONPATH].filter(Boolean).join(delimiter);
    return { command, args: ['-u', '-m', 'agent_trainer.worker'], cwd: workspace, env: { ...env, PYTHONPATH: path, PYTHONIOENCODING: 'utf-8' } };
  }
  const { command, env: needed } = await findNode(config.node, workspace);
  const register = pathToFileURL(join(runtime, 'node', 'register.mjs')).href;
  return {
    command,
    args: ['--enable-source-maps', '--import', register, nodeWorkerFile(runtime)],
    cwd: workspace,
    env: { ...env, ...needed, AGENT_TRAINER_CACHE: join(workspace, '.agent-trainer', 'cache') },
  };
}
