import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { t } from '../../trainer/protocol/l10n.ts';
import { TrainerError } from '../../trainer/protocol/errors.ts';

const run = promisify(execFile);
const oldestMajor = 20;

/** A program that runs JavaScript, and the environment that makes it do so. */
export interface NodeProgram { path: string; version: string; environment: Record<string, string> }

/**
 * The Node for the trainer: the setting, else `node` on the PATH, else (once more, through a login shell, which knows
 * what nvm and its like put there) `node`, else the editor's own. Each stage is logged.
 * @throws TrainerError 'environment' when the setting names something unusable
 */
export async function findNode(setting: string, log: (line: string) => void): Promise<NodeProgram> {
  if (setting !== '') {
    const version = await versionOf(setting);
    if (version === null) throw new TrainerError('environment', t('The setting agentTrainer.nodePath names {0}, which is not Node.js {1} or newer. Correct it, or clear it to let the extension choose.', setting, oldestMajor));
    log(`Node from the setting: ${setting} ${version}`);
    return { path: setting, version, environment: {} };
  }
  const onPath = await versionOf('node');
  if (onPath !== null) {
    log(`Node on the PATH: ${onPath}`);
    return { path: 'node', version: onPath, environment: {} };
  }
  const fromShell = await nodeOfLoginShell();
  const shellVersion = fromShell === null ? null : await versionOf(fromShell);
  if (fromShell !== null && shellVersion !== null) {
    log(`Node of the login shell: ${fromShell} ${shellVersion}`);
    return { path: fromShell, version: shellVersion, environment: {} };
  }
  log(`No Node.js ${oldestMajor} or newer found; the one inside the editor is used: ${process.execPath} ${process.version}`);
  return { path: process.execPath, version: process.version, environment: { ELECTRON_RUN_AS_NODE: '1' } };
}

/** The version of a Node program, or null if it is none or too old. */
async function versionOf(path: string): Promise<string | null> {
  try {
    const { stdout } = await run(path, ['--version'], { timeout: 10_000 });
    const major = Number(/^v(\d+)\./.exec(stdout.trim())?.[1]);
    return major >= oldestMajor ? stdout.trim() : null;
  } catch {
    return null; // not there, not executable, or no Node: the next stage decides
  }
}

async function nodeOfLoginShell(): Promise<string | null> {
  const shell = process.env['SHELL'];
  if (process.platform === 'win32' || shell === undefined) return null;
  try {
    const { stdout } = await run(shell, ['-ilc', 'command -v node'], { timeout: 10_000 });
    const path = stdout.trim().split('\n').at(-1) ?? '';
    return path.startsWith('/') ? path : null;
  } catch {
    return null;
  }
}
