import path from 'node:path';
import { Option, type Command } from 'commander';
import { TrainerError } from '../protocol/errors.ts';
import { providers } from '../protocol/providers.ts';
import type { StartRun } from '../protocol/rpc.ts';
import type { Run } from '../protocol/run.ts';
import { isResumable, resumeCommand } from '../runs/recover.ts';
import { openTrainer, type Trainer } from '../server/trainer.ts';
import { showProgress } from './progress.ts';
import { resultText } from './result-text.ts';

/** The folder that holds `.agent-trainer/`. */
export function workspaceOf(command: Command): string {
  return path.resolve(command.optsWithGlobals<{ workspace?: string }>().workspace ?? '.');
}

/** Starts a run in the workspace's trainer, shows its progress on stderr, prints the result on stdout and returns it. */
export async function runAndPrint(command: Command, request: StartRun, json: boolean): Promise<unknown> {
  return runInTrainer(command, request, (run) => {
    if (json) printJson(run.result);
    else process.stdout.write(`\n${resultText(run)}\n`);
    return run.result;
  });
}

/** Starts a run in the workspace's trainer, shows its progress on stderr, and uses it once it has succeeded. `finishes`: the first Ctrl+C ends it with what it has. */
export async function runInTrainer<T>(command: Command, request: StartRun, use: (run: Run, trainer: Trainer) => T | Promise<T>, { finishes = false } = {}): Promise<T> {
  return inTrainer(command, async (trainer) => use(await runToEnd(trainer, request, finishes), trainer));
}

/** The workspace's trainer while `use` runs. */
export async function inTrainer<T>(command: Command, use: (trainer: Trainer) => Promise<T>): Promise<T> {
  const trainer = await openTrainer({ workspace: workspaceOf(command) });
  try {
    return await use(trainer);
  } finally {
    await trainer.close();
  }
}

/** Paths on the command line are relative to the current folder, those of a request to the workspace. */
function fromHere(request: StartRun): StartRun {
  const absolute = (file: string | undefined) => (file === undefined ? file : path.resolve(file));
  const model = (name: string | undefined) => (name === undefined || /^(https?|hf):/.test(name) ? name : path.resolve(name));
  return {
    ...request,
    agent: absolute(request.agent), // path[:name]: the name is the end of the last segment and stays
    data: absolute(request.data),
    config_path: absolute(request.config_path),
    policy: model(request.policy),
    against: model(request.against),
  };
}

/** One Ctrl+C can arrive twice: from the terminal and, a moment later, from npm or another program between. */
const echoMs = 500;

/**
 * Waits for the run's end. Ctrl+C cancels it and waits until its agent processes are gone; one more does not wait. Of a run that
 * `finishes`, the first ends it with the best so far, and the second cancels. Throws when it did not succeed.
 */
export async function runToEnd(trainer: Trainer, request: StartRun, finishes: boolean): Promise<Run> {
  const { run_id, kind } = trainer.runs.start(fromHere(request));
  const endProgress = showProgress(trainer.store, run_id, process.stderr);
  const cancel = () => void trainer.runs.cancel(run_id).catch(() => undefined); // it may have ended just now
  const finish = () => {
    if (!trainer.runs.searches.live(run_id)) return cancel(); // it has not begun to search
    trainer.store.notice(run_id, 'info', 'Ending with the best so far; it is measured on the held-out tasks. Ctrl+C again cancels.');
    void trainer.runs.finish(run_id).catch(() => undefined);
  };
  const stops = finishes ? [finish, cancel] : [cancel];
  let last = -Infinity;
  const onSignal = () => {
    if (performance.now() - last < echoMs) return;
    last = performance.now();
    const stop = stops.shift();
    if (!stop) process.exit(130);
    stop();
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  try {
    const run = await trainer.runs.wait(run_id);
    if (run.status === 'succeeded') return run;
    if (run.status !== 'cancelled') throw new TrainerError('internal', run.error ?? `Run ${run_id} ended as ${run.status}.`);
    process.exitCode = 130;
    throw new TrainerError('cancelled', `Run ${run_id} was cancelled.${isResumable(kind) ? ` Continue it with: ${resumeCommand({ kind, run_id })}` : ''}`);
  } finally {
    endProgress(); // the signals' handlers stay: closing takes a moment too
  }
}

/** What an argument names: an agent, or a configuration that names agent, tasks and model. */
export function agentOrConfig(argument: string): Pick<StartRun, 'agent' | 'config_path'> {
  return argument.endsWith('.json') ? { config_path: argument } : { agent: argument };
}

/** Reads a whole number from `least` to `most` from the command line. */
export function integerArgument(flag: string, least = 1, most = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!Number.isInteger(value) || value < least || value > most || text.trim() === '') {
      throw new TrainerError('bad_input', `${flag} must be a whole number of at least ${least}${value > most ? ` and at most ${most}` : ''}, not "${text}".`);
    }
    return value;
  };
}

/** What `--policy` and its like take. */
export const policyForms = 'a model (folder, GGUF file or hf:owner/name) or OpenAI-compatible URL[#model]';

/** `--provider`: what the engine runs a local policy on. */
export function providerOption(): Option {
  return new Option('--provider <name>', 'what the engine runs a local policy on (default: the fastest here; agent-trainer hardware lists them)').choices(providers);
}

/** Reads a number above 0 from the command line. */
export function numberArgument(flag: string): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!Number.isFinite(value) || value <= 0 || text.trim() === '') throw new TrainerError('bad_input', `${flag} must be a number above 0, not "${text}".`);
    return value;
  };
}

export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}
