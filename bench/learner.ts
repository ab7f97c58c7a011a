/**
 * Time and peak memory of a training step (forward, backward, AdamW) in each way the learner can run it.
 *
 *   npx tsx bench/learner.ts [--json] [--size 5m|135m|vocab] [--threads N] [--lora]
 *
 * 8 rows of 64 + 64 tokens in one micro-batch, the last 64 trained; random weights. Each way runs in a process of its own, for its peak memory; their steps
 * take turns. cpu_s: processor time of a step, median. peak_mb: largest resident memory of the process; base_mb: weights, gradients and moments alone.
 * --lora: the whole model trained, and LoRA of rank 16 on all linear layers with the model kept in each type, each run as the learner chooses; base_mb: the model, factors, their
 * gradients and moments; cpu and peak: the ratios to training the whole model.
 * vocab: 262,144 tokens, four layers; all 127 tokens after the first are trained.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { zeros } from '../trainer/engine/tensor.ts';
import { decoderConfig, type DecoderConfig } from '../trainer/models/decoder-config.ts';
import { frozenParts } from '../trainer/models/frozen-base.ts';
import { initialFactors, type LoraSettings } from '../trainer/models/lora.ts';
import { parameterShapes } from '../trainer/models/parameters.ts';
import { wholeModel, type PolicyWeights } from '../trainer/models/policy-weights.ts';
import { allocateParameters } from '../trainer/models/weights.ts';
import { Learner, type Execution } from '../trainer/policy/learner.ts';
import { supervisedStep } from '../trainer/policy/supervised.ts';
import { loraTargets, type BaseType } from '../trainer/protocol/lora-config.ts';

const sizes = {
  '5m': decoderConfig('llama', { vocab: 4096, hidden: 256, intermediate: 704, layers: 5, heads: 8, kvHeads: 2, headDim: 32, contextLength: 2048 }),
  '135m': decoderConfig('llama', { vocab: 49152, hidden: 576, intermediate: 1536, layers: 30, heads: 9, kvHeads: 3, headDim: 64, contextLength: 2048 }),
  vocab: decoderConfig('llama', { vocab: 262144, hidden: 128, intermediate: 384, layers: 4, heads: 4, kvHeads: 2, headDim: 32, contextLength: 2048 }),
};
const lora: LoraSettings = { rank: 16, alpha: 32, targets: loraTargets, rslora: false };
type Way = Execution | `lora ${BaseType}`;

const { values } = parseArgs({ options: { lora: { type: 'boolean' }, json: { type: 'boolean' }, size: { type: 'string', default: '135m' }, threads: { type: 'string', default: '2' }, way: { type: 'string' }, rounds: { type: 'string', default: '3' } } });
const size = values.size as keyof typeof sizes;
const ways: Way[] = values.lora ? ['auto', 'lora float32', 'lora float16', 'lora int8', 'lora int4'] : ['whole', 'layers', 'recompute'];
if (values.way) await child(values.way as Way);
else await main();

async function main(): Promise<void> {
  const children = ways.map((way) => ({ way, process: fork(import.meta.filename, ['--size', size, '--threads', values.threads, '--way', way]), base: 0, steps: [] as { cpu: number; wall: number; peak: number }[] }));
  for (const started of children) started.base = (await answer(started.process)).peak;
  for (let round = 0; round <= Number(values.rounds); round++) {
    for (const { process: running, steps } of children) {
      running.send('step');
      const step = await answer(running);
      if (round > 0) steps.push(step); // the first compiles
    }
  }
  for (const { process: running } of children) running.kill();
  const median = (numbers: number[]) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1] as number;
  const results = children.map(({ way, steps, base }) => ({ way, cpu_s: median(steps.map(({ cpu }) => cpu)), wall_s: median(steps.map(({ wall }) => wall)), peak_mb: (steps.at(-1) as { peak: number }).peak, base_mb: base }));
  const [whole] = results;
  const compared = whole && values.lora ? results.map((result) => ({ ...result, cpu: result.cpu_s / whole.cpu_s, peak: result.peak_mb / whole.peak_mb })) : results;
  if (values.json) console.log(JSON.stringify({ size, results: compared }));
  else console.table(compared);
}

function answer(from: ChildProcess): Promise<{ cpu: number; wall: number; peak: number }> {
  return new Promise((resolve, reject) => {
    from.once('message', (message) => { resolve(message as { cpu: number; wall: number; peak: number }); });
    from.once('exit', (code) => { reject(new Error(`the measured process ended with ${code}`)); });
  });
}

async function child(way: Way): Promise<void> {
  const config = sizes[size];
  const model = policyWeights(config, way);
  const learner = new Learner(config, model, { provider: 'cpu', threads: Number(values.threads) }, way.startsWith('lora') ? 'auto' : way as Execution);
  const trainedFrom = size === 'vocab' ? 1 : 64;
  const rows = Array.from({ length: 8 }, (_, r) => ({ tokens: Array.from({ length: 128 }, (_, i) => (i * 7919 + r * 31 + 3) % config.vocab), mask: Array.from({ length: 128 }, (_, i) => (i >= trainedFrom ? 1 : 0)) }));
  process.on('message', () => {
    void (async () => {
      const [before, start] = [process.cpuUsage(), performance.now()];
      await supervisedStep(learner, rows, { lr: 1e-5, betas: [0.9, 0.95], weight_decay: 0, max_grad_norm: 1, micro_batch_tokens: 2048 });
      const { user, system } = process.cpuUsage(before);
      process.send?.({ cpu: (user + system) / 1e6, wall: (performance.now() - start) / 1e3, peak: peakMb() });
    })();
  });
  const bytes = 16 * model.trainable.flat.length + [...model.frozen?.base.tensors.values() ?? []].reduce((sum, { data }) => sum + data.byteLength, 0);
  process.send?.({ cpu: 0, wall: 0, peak: Math.round(bytes / 2 ** 20) });
}

/** Random weights; a model that is frozen is never in memory as a whole in float32. */
function policyWeights(config: DecoderConfig, way: Way): PolicyWeights {
  let state = 2463534242;
  const fill = (name: string, data: Float32Array) => {
    for (let i = 0; i < data.length; i++) {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      data[i] = name.endsWith('norm.weight') ? 1 : (state / 2 ** 31) * 0.03;
    }
  };
  if (!way.startsWith('lora')) {
    const weights = allocateParameters(config);
    for (const [name, { data }] of weights.tensors) fill(name, data);
    return wholeModel(weights);
  }
  const type = way.slice('lora '.length) as BaseType;
  const tensors = new Map([...parameterShapes(config)].flatMap(([name, shape]) => {
    const tensor = zeros('float32', shape);
    fill(name, tensor.data);
    return frozenParts(name, tensor, type);
  }));
  return { trainable: initialFactors(config, lora, 1), frozen: { base: { type, tensors }, lora } };
}

function peakMb(): number { return Math.round(Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) / 1024); }
