import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../../../trainer/cli/main.ts', import.meta.url));

/** A real `agent-trainer serve` process. */
export interface Daemon { process: ChildProcess; url: string; token: string; tokenFile: string; ended: Promise<unknown> }

export async function startDaemon(workspace: string, options: string[] = []): Promise<Daemon> {
  const child = spawn(process.execPath, ['--import', 'tsx', main, '--workspace', workspace, 'serve', ...options], { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'exit');
  let said = '';
  child.stderr.on('data', (part: Buffer) => { said += part.toString(); });
  const line = await Promise.race([once(createInterface(child.stdout), 'line'), ended.then(() => { throw new Error(said); })]) as [string];
  const { url, token_file } = JSON.parse(line[0]) as { url: string; token_file: string };
  const { token } = JSON.parse(readFileSync(token_file, 'utf8')) as { token: string };
  return { process: child, url, token, tokenFile: token_file, ended };
}

/** A process that does nothing: somebody's parent. */
export function idleProcess(): ChildProcess {
  return spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
}
