import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { packagesFolder, tensorFlowPackage, tensorFlowVersion } from '../../engine/tensorflow/load.ts';
import { readConfig } from '../../models/config.ts';
import { decoderConfig } from '../../models/decoder-config.ts';
import { fetchModel } from '../../models/hub/fetch-model.ts';
import { TrainerError } from '../../protocol/errors.ts';
import type { Provider, ProviderChoice } from '../../protocol/providers.ts';
import { onnxRuntimeFolder } from './candidates.ts';
import { namedModel } from '../named-model.ts';
import { chooseProvider } from './choose.ts';

/** As wide as models of half a billion parameters. */
const usual = decoderConfig('qwen2', { vocab: 8192, hidden: 896, intermediate: 4864, layers: 2, heads: 14, kvHeads: 2, headDim: 64, contextLength: 256 });

/** Measures this machine's providers anew, for models as wide as the one named, and remembers the choice. Throws TrainerError when there is none of that name. */
export async function measureHardware(model: string | undefined, onProbe: (provider: Provider) => void): Promise<ProviderChoice> {
  const config = model === undefined ? usual : await readConfig(await fetchModel(namedModel(model, '.')));
  return chooseProvider(config, { threads: availableParallelism(), again: true, onProbe });
}

export const installable = ['cuda', 'tensorflow'] as const;

/**
 * Installs what an installation of the trainer leaves out, with npm's and the packages' own install scripts, which download it from
 * their makers. Throws `environment` when that fails.
 */
export async function installProvider(provider: (typeof installable)[number]): Promise<void> {
  if (provider === 'cuda') {
    await execute(process.execPath, [path.join('script', 'install.js')], onnxRuntimeFolder(), { ONNXRUNTIME_NODE_INSTALL: 'cuda12' });
    return;
  }
  const folder = packagesFolder();
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, 'package.json'), JSON.stringify({ private: true, dependencies: { [tensorFlowPackage]: tensorFlowVersion } }));
  await execute('npm', ['install', '--ignore-scripts=false', '--no-audit', '--no-fund'], folder);
}

function execute(command: string, args: string[], cwd: string, env: Record<string, string> = {}): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (how: string, cause?: Error) => { reject(new TrainerError('environment', `"${[command, ...args].join(' ')}" in ${cwd} ${how}. What it printed above says why.`, { cause })); };
    const child = spawn(command, args, { cwd, stdio: ['ignore', 2, 2], env: { ...process.env, ...env }, shell: process.platform === 'win32' && command === 'npm' });
    child.once('error', (error) => { failed(`cannot be started: ${error.message}`, error); });
    child.once('exit', (code, signal) => { if (code === 0) resolve(); else failed(`ended with ${signal ?? `code ${code}`}`); });
  });
}
