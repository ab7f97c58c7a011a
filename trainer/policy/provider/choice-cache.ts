import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import * as ort from 'onnxruntime-node';
import { tensorFlowVersion } from '../../engine/tensorflow/load.ts';
import type { DecoderConfig } from '../../models/decoder-config.ts';
import { ProviderChoice } from '../../protocol/providers.ts';
import type { Candidate } from './candidates.ts';

const Choices = z.record(z.string(), ProviderChoice);
const kept = 50; // choices in the file

/** Everything a choice depends on: machine, drivers, packages, what is installed, size of the model, threads. */
export async function choiceKey(config: DecoderConfig, threads: number, candidates: readonly Candidate[]): Promise<string> {
  const { CUDA_VISIBLE_DEVICES, VK_DRIVER_FILES, VK_ICD_FILENAMES } = process.env;
  const parts = [
    os.hostname(), os.platform(), os.arch(), os.release(), os.cpus()[0]?.model, os.cpus().length, await nvidiaDriver(),
    CUDA_VISIBLE_DEVICES, VK_DRIVER_FILES, VK_ICD_FILENAMES, ort.env.versions, tensorFlowVersion, candidates, config, threads,
  ];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
}

/** Names and driver versions of NVIDIA's GPUs; empty where there are none. */
export async function nvidiaDriver(): Promise<string> {
  const query = promisify(execFile)('nvidia-smi', ['--query-gpu=name,driver_version,memory.total', '--format=csv,noheader'], { timeout: 10_000 });
  return query.then(({ stdout }) => stdout.trim(), () => '');
}

export async function knownChoice(key: string): Promise<ProviderChoice | null> {
  return (await read())[key] ?? null;
}

export async function rememberChoice(key: string, choice: ProviderChoice): Promise<void> {
  const others = Object.entries(await read()).filter(([other]) => other !== key);
  const choices = Object.fromEntries([...others.slice(1 - kept), [key, choice]]);
  const temporary = `${cacheFile()}.tmp-${process.pid}`;
  await mkdir(path.dirname(temporary), { recursive: true });
  await writeFile(temporary, JSON.stringify(choices));
  await rename(temporary, cacheFile());
}

/** A file that cannot be read holds nothing: it is a cache. */
async function read(): Promise<z.infer<typeof Choices>> {
  try {
    return Choices.parse(JSON.parse(await readFile(cacheFile(), 'utf8')));
  } catch {
    return {};
  }
}

export function cacheFile(): string {
  const { XDG_CACHE_HOME, LOCALAPPDATA } = process.env;
  const cache = XDG_CACHE_HOME || (process.platform === 'win32' && LOCALAPPDATA) || path.join(os.homedir(), '.cache');
  return path.join(cache, 'agent-trainer', 'providers.json');
}
