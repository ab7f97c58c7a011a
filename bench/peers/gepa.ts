import { execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { z } from 'zod';

const version = '0.1.4';
const folder = path.join(homedir(), '.cache', 'agent-trainer', `peer-gepa-${version}`);
const python = path.join(folder, 'bin', 'python');

const Outcome = z.object({ prompts: z.array(z.string()), scores: z.array(z.number()), found_after: z.array(z.number()), rollouts: z.number(), version: z.string() });

export interface PeerJob { url: string; prompt: string; seed: number; budget: number; train: PeerTask[]; validation: PeerTask[] }
export interface PeerTask { input: unknown; seed: number }

/** Puts the published package into a virtual environment in the user's cache, once. */
export function installPeer(): void {
  if (existsSync(python)) return;
  execFileSync('python3', ['-m', 'venv', folder]);
  execFileSync(python, ['-m', 'pip', 'install', '--quiet', `gepa==${version}`], { stdio: ['ignore', 'ignore', 'inherit'] });
}

/** Its candidates in the order they were found: texts, mean validation rewards, and rollouts spent by then. */
export async function runPeer(job: PeerJob): Promise<z.infer<typeof Outcome>> {
  const child = spawn(python, [path.join(import.meta.dirname, 'gepa-peer.py')], { stdio: ['pipe', 'pipe', 'pipe'] });
  let output = '';
  let errors = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => { output += text; });
  child.stderr.setEncoding('utf8').on('data', (text: string) => { errors += text; });
  child.stdin.end(JSON.stringify(job));
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  if (code !== 0) throw new Error(`gepa ended with ${code}: ${errors.slice(-2000)}`);
  return Outcome.parse(JSON.parse(output));
}
