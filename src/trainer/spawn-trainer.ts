import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { t } from '../../trainer/protocol/l10n.ts';
import { messageOf, TrainerError } from '../../trainer/protocol/errors.ts';
import type { NodeProgram } from './find-node.ts';
import { readServerFile, Started } from './handshake.ts';
import type { Connection } from './rpc-client.ts';

export interface TrainerProcess {
  connection: Connection;
  pid: number;
  /** Resolves with how it ended when the process is gone. */
  gone: Promise<string>;
}

/**
 * Starts `agent-trainer serve` for a folder and waits until it says where it listens.
 * It ends by itself when this process has gone, unless a training run is active.
 * @throws TrainerError 'environment' if it ends before that, with the last lines it wrote
 */
export async function spawnTrainer(options: { node: NodeProgram; cli: string; folder: string; log: (line: string) => void }): Promise<TrainerProcess> {
  const { node, cli, folder, log } = options;
  const child = spawn(node.path, [cli, '--workspace', folder, 'serve', '--parent-pid', String(process.pid)], {
    cwd: folder,
    env: { ...process.env, ...node.environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: process.platform !== 'win32', // a signal to the editor's process group must not end a training run
    windowsHide: true,
  });
  const lastLines: string[] = [];
  createInterface(child.stderr).on('line', (line) => {
    log(line);
    lastLines.push(line);
    if (lastLines.length > 5) lastLines.shift();
  });
  const gone = new Promise<string>((resolve) => {
    child.once('error', (error) => { resolve(t('could not be started: {0}', messageOf(error))); });
    child.once('close', (code, signal) => { resolve(signal === null ? t('ended with code {0}', String(code)) : t('was ended by {0}', signal)); });
  });
  const firstLine = new Promise<string>((resolve) => { createInterface(child.stdout).once('line', resolve); });

  const first = await Promise.race([firstLine, gone.then((how) => ({ how }))]);
  if (typeof first !== 'string') {
    const failure = t('The trainer {0} before it was ready.', first.how);
    throw new TrainerError('environment', lastLines.length === 0 ? failure : t('{0} It said: {1}', failure, lastLines.join(' ')));
  }
  child.stdout.resume();
  const started = parseStarted(first);
  const server = started === null ? null : await readServerFile(started.token_file);
  if (started === null || server === null) {
    child.kill();
    throw new TrainerError('environment', t('The trainer did not say where it listens, but: {0}. Reinstall the extension if this stays.', first.slice(0, 200)));
  }
  child.unref();
  return { connection: { url: started.url, token: server.token }, pid: child.pid ?? 0, gone };
}

function parseStarted(line: string): { url: string; token_file: string } | null {
  try {
    return Started.parse(JSON.parse(line));
  } catch {
    return null;
  }
}
