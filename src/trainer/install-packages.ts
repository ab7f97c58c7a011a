import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import kill from 'tree-kill';
import { z } from 'zod';
import { messageOf, TrainerError } from '../../trainer/protocol/errors.ts';
import type { Translator } from '../wrap/messages.ts';
import type { NodeProgram } from './find-node.ts';

const Download = z.object({ bytes: z.number() });

/** How many bytes npm fetches for the packages that `from` names. */
export async function downloadSize(from: string): Promise<number> {
  return Download.parse(JSON.parse(await readFile(join(from, 'download.json'), 'utf8'))).bytes;
}

/** Where exactly these packages are installed; null when they are not. */
export async function installedPackages(from: string, storage: string): Promise<string | null> {
  const folder = await folderOf(from, storage);
  return existsSync(folder) ? folder : null;
}

export interface InstallOptions {
  l10n: Translator;
  /** A folder with package.json and package-lock.json. */
  from: string;
  storage: string;
  node: NodeProgram;
  signal: AbortSignal;
  log: (line: string) => void;
}

/**
 * Installs packages as they are locked, with the npm of the user's Node, without running scripts of theirs. Returns their folder,
 * which appears complete or not at all. @throws TrainerError 'cancelled' | 'environment'
 */
export async function installPackages({ l10n, from, storage, node, signal, log }: InstallOptions): Promise<string> {
  const folder = await folderOf(from, storage);
  const work = `${folder}.installing-${process.pid}`;
  try {
    await mkdir(work, { recursive: true });
    for (const name of ['package.json', 'package-lock.json']) await cp(join(from, name), join(work, name));
    await npmInstall({ l10n, work, node, signal, log });
    await dropForeignBinaries(join(work, 'node_modules', 'onnxruntime-node', 'bin'));
    await rename(work, folder).catch((error: unknown) => { if (!existsSync(folder)) throw error; }); // another window was faster
    return folder;
  } catch (error) {
    throw error instanceof TrainerError ? error : new TrainerError('environment', l10n.t('The native packages could not be put into {0}: {1}', storage, messageOf(error)), { cause: error });
  } finally {
    await rm(work, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Lets the programs in `dist` find the packages, as Node looks for them in folders above a module alone. @throws TrainerError 'environment' */
export async function linkPackages(l10n: Translator, folder: string, dist: string): Promise<void> {
  const link = join(dist, 'node_modules');
  try {
    await rm(link, { recursive: true, force: true }); // one that leads nowhere
    await symlink(join(folder, 'node_modules'), link, 'junction'); // on Windows a kind of link that everyone may make
  } catch (error) {
    if (existsSync(link)) return; // another window was faster
    throw new TrainerError('environment', l10n.t('{0} could not be made: {1}. Install the package of Agent Trainer for this platform, which needs no link.', link, messageOf(error)), { cause: error });
  }
}

async function folderOf(from: string, storage: string): Promise<string> {
  const lock = createHash('sha256').update(await readFile(join(from, 'package-lock.json'))).digest('hex').slice(0, 16);
  return join(storage, `native-${process.platform}-${process.arch}-${lock}`);
}

async function npmInstall({ l10n, work, node, signal, log }: Omit<InstallOptions, 'from' | 'storage'> & { work: string }): Promise<void> {
  const run = (...args: string[]) => runNpm(args, { cwd: work, node, signal, log });
  const hasNpm = await run('--version');
  if (!hasNpm.ok) throw new TrainerError('environment', l10n.t('npm was not found, which installs the native packages. Install Node.js with npm, or name one by the setting agentTrainer.nodePath; or install the package of Agent Trainer for this platform, which has them inside.'));
  const installed = await run('ci', '--ignore-scripts', '--no-audit', '--no-fund');
  if (signal.aborted) throw new TrainerError('cancelled', l10n.t('The trainer was not started: its native packages are not installed.'));
  if (installed.ok) return;
  const isOffline = installed.lines.some((line) => /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|ETIMEDOUT|ERR_SOCKET_TIMEOUT)\b/.test(line));
  throw new TrainerError('environment', isOffline
    ? l10n.t('npm cannot reach its registry, so the native packages were not installed. Check the connection and the proxy of npm and run the command again; or install the package of Agent Trainer for this platform, which has them inside.')
    : l10n.t('npm could not install the native packages: {0}. The log says more.', installed.lines.filter((line) => line.startsWith('npm error')).slice(0, 3).join(' ') || l10n.t('it gave no reason')));
}

/** One call of the npm that belongs to a Node, else of that on the PATH; all that it said. */
function runNpm(args: string[], { cwd, node, signal, log }: Pick<InstallOptions, 'node' | 'signal' | 'log'> & { cwd: string }): Promise<{ ok: boolean; lines: string[] }> {
  const environment = { ...process.env };
  const path = Object.keys(environment).find((name) => name.toUpperCase() === 'PATH') ?? 'PATH';
  if (node.path !== 'node') environment[path] = [dirname(node.path), environment[path]].join(delimiter);
  const child = spawn('npm', args, { cwd, env: environment, stdio: ['ignore', 'pipe', 'pipe'], windowsHide: true, shell: process.platform === 'win32' }); // there npm is a script
  const stop = (): void => { if (child.pid !== undefined) kill(child.pid); };
  signal.addEventListener('abort', stop);
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) createInterface(stream).on('line', (line) => { lines.push(line); log(line); });
  return new Promise((resolve) => {
    const ended = (ok: boolean): void => {
      signal.removeEventListener('abort', stop);
      resolve({ ok, lines });
    };
    child.once('error', () => { ended(false); });
    child.once('close', (code) => { ended(code === 0); });
  });
}

/** onnxruntime-node comes with the binaries of all systems, a quarter of a gigabyte. */
async function dropForeignBinaries(bin: string): Promise<void> {
  for (const api of await readdir(bin)) {
    for (const system of await readdir(join(bin, api))) if (system !== process.platform) await rm(join(bin, api, system), { recursive: true });
  }
}
