import type { DebugLaunch } from '../../trainer/protocol/endpoints.ts';

/** What VS Code's debuggers are given. */
export interface DebugConfiguration { type: string; request: 'launch'; name: string; [field: string]: unknown }

/** Starts the worker of a prepared rollout under the debugger of its language. Breakpoints are those of the user's files. */
export function debugConfiguration(launch: DebugLaunch, name: string): DebugConfiguration {
  const { command, interpreter_args, program, cwd, env, runtime } = launch;
  const common = { request: 'launch', name, cwd, console: 'internalConsole', internalConsoleOptions: 'openOnSessionStart' } as const;
  if (launch.language === 'python') {
    // debugpy takes no null: what must be unset for us is harmless to Python.
    const present = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== null));
    return { ...common, type: 'debugpy', module: program, python: command, pythonArgs: interpreter_args, env: present, justMyCode: true, subProcess: false };
  }
  const ours = `${runtime.replaceAll('\\', '/')}/**`;
  return {
    ...common, type: 'node', runtimeExecutable: command, runtimeArgs: interpreter_args, program, env,
    skipFiles: ['<node_internals>/**', ours], resolveSourceMapLocations: ['**', `!${ours}`, '!**/node_modules/**'], outputCapture: 'std', autoAttachChildProcesses: false,
  };
}
