/** llama.cpp as a measured process: argv is {entry, file, threads}; jobs as in own-sampler.ts, one prompt each. */
import { pathToFileURL } from 'node:url';
import { timed, serve } from './serve.ts';

/** The part of node-llama-cpp that is used. */
interface Sequence {
  clearHistory(): Promise<void>;
  evaluate(tokens: number[], options: { temperature: number; topK: number; topP: number; seed: number; yieldEogToken: boolean }): AsyncGenerator<number>;
}
interface Model { createContext(options: object): Promise<{ getSequence(): Sequence }> }
interface Module { getLlama: (options: object) => Promise<{ loadModel(options: object): Promise<Model> }> }

const { entry, file, threads } = JSON.parse(process.argv[2] as string) as { entry: string; file: string; threads: number };
const { getLlama } = await import(pathToFileURL(entry).href) as Module;
const llama = await getLlama({ gpu: false, build: 'never', logLevel: 'error', maxThreads: threads });
const model = await llama.loadModel({ modelPath: file, gpuLayers: 0 });
const context = await model.createContext({ contextSize: 512, batchSize: 512, threads });
const sequence = context.getSequence();

await serve(async ({ prompts, new_tokens, seed }: { prompts: number[][]; new_tokens: number; seed: number }) => {
  if (prompts.length !== 1) throw new Error('one prompt at a time');
  await sequence.clearHistory();
  let tokens = 0;
  const time = await timed(async () => {
    for await (const token of sequence.evaluate(prompts[0] as number[], { temperature: 1, topK: 0, topP: 1, seed, yieldEogToken: true })) {
      if (token >= 0 && ++tokens === new_tokens) return;
    }
  });
  return { ...time, tokens };
});
process.exit(0); // its threads would keep the process
