import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { TrainerError } from '../protocol/errors.ts';

export interface Interpreter {
  command: string;
  /** Needed in its environment. */
  env: Record<string, string>;
}

interface Probe { executable: string; version: [number, number]; electron: boolean }
const Probe = z.object({ executable: z.string(), version: z.tuple([z.number(), z.number()]), electron: z.boolean() });

interface Language {
  name: string;
  minimum: [number, number];
  setting: 'runner.python' | 'runner.node';
  /** Makes the interpreter print a Probe. */
  args: string[];
}

const python: Language = {
  name: 'Python', minimum: [3, 9], setting: 'runner.python',
  args: ['-I', '-c', 'import json, sys; print(json.dumps({"executable": sys.executable, "version": sys.version_info[:2], "electron": False}))'],
};
const node: Language = {
  name: 'Node', minimum: [20, 19], setting: 'runner.node',
  args: ['-p', 'JSON.stringify({ executable: process.execPath, version: process.versions.node.split(".").slice(0, 2).map(Number), electron: "electron" in process.versions })'],
};

/** The Python for agents: the configured one, else the workspace's virtual environment, else python3 or python on PATH. Throws TrainerError 'environment'. */
export function findPython(configured: string | undefined, workspace: string): Promise<Interpreter> {
  if (configured !== undefined) return chosen(python, configured, workspace);
  const inside = process.platform === 'win32' ? ['Scripts', 'python.exe'] : ['bin', 'python'];
  const environment = ['.venv', 'venv'].map((folder) => join(workspace, folder, ...inside)).find((file) => existsSync(file));
  return environment ? chosen(python, environment, workspace) : firstOf(python, ['python3', 'python']);
}

/** The Node for agents: the configured one, else the one that runs the trainer, else node on PATH, else VS Code's own. Throws TrainerError 'environment'. */
export async function findNode(configured: string | undefined, workspace: string): Promise<Interpreter> {
  if (configured !== undefined) return chosen(node, configured, workspace);
  if (!process.versions.electron) return firstOf(node, [process.execPath, 'node']);
  return firstOf(node, ['node', process.execPath]);
}

/** One that the user or the workspace names: it or an error, no other. */
async function chosen(language: Language, command: string, workspace: string): Promise<Interpreter> {
  const path = /[\\/]/.test(command) ? resolve(workspace, command) : command;
  const probe = await ask(language, path);
  if (!probe) throw missing(language, `${path} does not run as ${language.name}.`);
  if (!isEnough(language, probe)) throw missing(language, `${path} is ${language.name} ${probe.version.join('.')}.`);
  return interpreterOf(probe);
}

async function firstOf(language: Language, commands: string[]): Promise<Interpreter> {
  const tooOld: string[] = [];
  for (const command of commands) {
    const probe = await ask(language, command);
    if (probe && isEnough(language, probe)) return interpreterOf(probe);
    if (probe) tooOld.push(`${probe.executable} is ${language.name} ${probe.version.join('.')}`);
  }
  throw missing(language, tooOld.length > 0 ? `${tooOld.join('; ')}.` : `No ${language.name} was found (looked for ${commands.join(', ')}).`);
}

function missing({ name, minimum, setting }: Language, found: string): TrainerError {
  return new TrainerError('environment', `${found} Agents need ${name} ${minimum.join('.')} or later: install it, or name one in "${setting}" of agent-trainer.json.`);
}

function isEnough({ minimum }: Language, { version }: Probe): boolean {
  return version[0] > minimum[0] || (version[0] === minimum[0] && version[1] >= minimum[1]);
}

function interpreterOf({ executable, electron }: Probe): Interpreter {
  return { command: executable, env: electron ? { ELECTRON_RUN_AS_NODE: '1' } : {} };
}

/** null: it does not start, or is something else. Asking for the executable also sees through shims, which would cost at every start. */
function ask({ args }: Language, command: string): Promise<Probe | null> {
  const env = { ...process.env, ELECTRON_RUN_AS_NODE: '1' };
  return new Promise((done) => {
    execFile(command, args, { timeout: 20_000, env, encoding: 'utf8' }, (error, stdout) => {
      if (error) return done(null);
      try {
        done(Probe.parse(JSON.parse(stdout)));
      } catch {
        done(null);
      }
    });
  });
}
