import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { ProviderTrial } from '../../protocol/providers.ts';
import { ProbeAnswer, type ProbeRequest } from './probe-messages.ts';

/** The bundler gives the process its own file beside the one this module ends up in. */
const processFile = fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? './probe-from-source.mjs' : './provider-probe.js', import.meta.url));

export interface ProbeOptions { signal?: AbortSignal; limitMs: number; file?: string }

/** Tests and times a provider in a process of its own, which is killed after `limitMs`. Never throws, but when it is aborted. */
export async function probe(request: ProbeRequest, { signal, limitMs, file = processFile }: ProbeOptions): Promise<ProviderTrial> {
  signal?.throwIfAborted();
  const child = fork(file, [], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'], execArgv: [], serialization: 'advanced' });
  const stop = () => { child.kill('SIGKILL'); };
  let late = false;
  const timer = setTimeout(() => { late = true; stop(); }, limitMs);
  signal?.addEventListener('abort', stop);
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => { stderr = (stderr + text).slice(-4000); });
  try {
    const answer = await new Promise<ProbeAnswer>((resolve) => {
      child.once('message', (message) => { resolve(ProbeAnswer.parse(message)); });
      child.once('error', (error) => { resolve({ refused: `its process cannot start: ${error.message}` }); });
      child.once('exit', (code, by) => { resolve({ refused: late ? `no answer within ${limitMs / 1000} s` : `its process ended with ${by ?? `code ${code}`}${lastLine(stderr)}` }); });
      child.send(request, () => undefined); // a process that has ended is heard of by its exit
    });
    signal?.throwIfAborted();
    return 'timing' in answer ? { provider: request.provider, refused: null, timing: answer.timing } : { provider: request.provider, refused: plainReason(answer.refused) };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
    stop();
  }
}

/** Without what is said of every refusal, and without the places in ONNX Runtime's source. */
export function plainReason(message: string): string {
  const [line = ''] = message.replace(/^The graph cannot be compiled for the provider "\w+": /, '').trim().split('\n');
  return line.replace(/^\/\S+\.(cc|h|cpp):\d+ .*? was false\. /, '').replace(/\.$/, '').slice(0, 300);
}

function lastLine(stderr: string): string {
  const line = stderr.trim().split('\n').at(-1);
  return line ? `: ${line}` : '';
}
