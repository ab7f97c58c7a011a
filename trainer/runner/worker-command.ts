import { delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { RunnerConfig } from '../protocol/config.ts';
import type { AgentSpec } from './agent-spec.ts';
import { cacheFolder } from './clean-cache.ts';
import { findNode, findPython } from './interpreters.ts';
import { nodeWorkerFile, runtimeFolder } from './runtime-files.ts';

/** How to start a worker. */
export interface WorkerCommand {
  command: string;
  args: string[];
  cwd: string;
  env: Record<string, string | undefined>;
  /** `args` as a debugger wants them: the interpreter's own, and the program (python: a module). */
  interpreterArgs: string[];
  program: string;
  /** Folder of our own code. */
  runtime: string;
}

/** Finds the interpreter for the agent. Throws TrainerError 'environment'. */
export async function workerCommand(agent: AgentSpec, config: RunnerConfig, workspace: string): Promise<WorkerCommand> {
  const runtime = runtimeFolder();
  // VS Code sets ELECTRON_RUN_AS_NODE for the trainer alone; in the agent's hands it would change what Electron programs do.
  const env: WorkerCommand['env'] = { ...process.env, ELECTRON_RUN_AS_NODE: undefined, ...config.env };
  if (agent.language === 'python') {
    const { command } = await findPython(config.python, workspace);
    const path = [join(runtime, 'python'), env.PYTHONPATH].filter(Boolean).join(delimiter);
    const program = 'agent_trainer.worker';
    return { command, args: ['-u', '-m', program], cwd: workspace, env: { ...env, PYTHONPATH: path, PYTHONIOENCODING: 'utf-8' }, interpreterArgs: ['-u'], program, runtime };
  }
  const { command, env: needed } = await findNode(config.node, workspace);
  const register = pathToFileURL(join(runtime, 'node', 'register.mjs')).href;
  const interpreterArgs = ['--enable-source-maps', '--import', register];
  const program = nodeWorkerFile(runtime);
  return {
    command,
    args: [...interpreterArgs, program],
    cwd: workspace,
    env: { ...env, ...needed, AGENT_TRAINER_CACHE: cacheFolder(workspace) },
    interpreterArgs, program, runtime,
  };
}
