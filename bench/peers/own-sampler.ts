/** Our sampler as a measured process: argv is {folder, threads, dtype}; jobs are {prompts, new_tokens, seed}, a request per prompt, all at once. */
import { PolicyHost, type HostEvent } from '../../trainer/policy/policy-host.ts';
import type { SamplingDtype } from '../../trainer/protocol/rollout.ts';
import { timed, serve } from './serve.ts';

const { folder, threads, dtype } = JSON.parse(process.argv[2] as string) as { folder: string; threads: number; dtype: SamplingDtype };
let tokens = 0;
const host = await PolicyHost.open({ folder, provider: 'cpu', providerReason: 'as asked for', threads, lora: null }, count);

function count(event: HostEvent): void {
  if (event.type === 'token') tokens += 1;
  else if (event.type === 'failed' || event.type === 'invalid') throw event.error;
}

await serve(async ({ prompts, new_tokens, seed }: { prompts: number[][]; new_tokens: number; seed: number }) => {
  tokens = 0;
  const time = await timed(async () => {
    prompts.forEach((prompt, i) => host.sampler.submit({ id: i, prompt, max_tokens: new_tokens, seed: seed * 1000 + i, temperature: 1, top_p: 1, top_k: 0, stop: [], top_logprobs: 0 }, dtype));
    while (host.sampler.waiting || host.sampler.running) {
      if (host.sampler.waiting) host.sampler.admit();
      if (host.sampler.running) await host.sampler.step();
    }
  });
  return { ...time, tokens };
});
await host.release();
