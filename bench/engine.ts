/**
 * How much of ONNX Runtime's matmul speed a whole training step keeps.
 *
 *   npm run -s bench -- engine [--json] [--threads N]
 *
 * Step: forward and backward pass of a Qwen2-shaped decoder (all parameters trainable, loss at every position) on 2 rows of 256 tokens: one of about
 * 40 M parameters, and a sixth of Qwen2.5-0.5B (`0.5b_layers`: its layers, 4 of 24, and a sixth of its vocabulary, so that the parts weigh as in the whole).
 * Baseline: the step's own forward products as plain ONNX MatMul nodes, weights fed as in training. Both run alternately;
 * gemm_ratio = median FLOP/s of the step / median FLOP/s of the baseline.
 * Only matrix products count as FLOP, 2·m·n·k each: normalisation, softmax, rotary embedding, bias, loss cost time and count nothing.
 * A training step holds three products for every forward one (the value, and the gradients of its two operands).
 */
import { parseArgs } from 'node:util';
import { compile, type Executable, type Tensors } from '../trainer/engine/executor.ts';
import { GraphBuilder } from '../trainer/engine/graph.ts';
import { elementCount, zeros, type Tensor } from '../trainer/engine/tensor.ts';
import { decoderConfig, type DecoderConfig } from '../trainer/models/decoder-config.ts';
import { trainingGraph } from '../trainer/models/training-graph.ts';
import { fillNoise } from './fixtures/noise.ts';
import { median, significant } from './fixtures/statistics.ts';

const small = decoderConfig('qwen2', { vocab: 20480, hidden: 512, intermediate: 2048, layers: 8, heads: 8, kvHeads: 2, headDim: 64, contextLength: 256 });
const wide = decoderConfig('qwen2', { vocab: 25344, hidden: 896, intermediate: 4864, layers: 4, heads: 14, kvHeads: 2, headDim: 64, contextLength: 256 });
const shape = { batch: 2, length: 256, trained: 512 };
const ROUNDS = 7;

interface Product { m: number; k: number; n: number; count: number }

/** Forward products of one pass: the projections, and attention's scores and mixtures per head (over all T² pairs, as computed). */
function forwardProducts(c: DecoderConfig): { dense: Product[]; attention: Product } {
  const m = shape.batch * shape.length;
  const kv = c.kvHeads * c.headDim;
  const dense = [
    { m, k: c.hidden, n: c.heads * c.headDim, count: c.layers },
    { m, k: c.hidden, n: kv, count: 2 * c.layers },
    { m, k: c.heads * c.headDim, n: c.hidden, count: c.layers },
    { m, k: c.hidden, n: c.intermediate, count: 2 * c.layers },
    { m, k: c.intermediate, n: c.hidden, count: c.layers },
    { m: shape.trained, k: c.hidden, n: c.vocab, count: 1 },
  ];
  return { dense, attention: { m: shape.length, k: c.headDim, n: shape.length, count: 2 * c.layers * c.heads * shape.batch } };
}

const flop = ({ m, k, n, count }: Product) => 2 * m * k * n * count;
const total = (products: Product[]) => products.reduce((sum, p) => sum + flop(p), 0);

function noise(dims: readonly number[], scale: number): Tensor {
  const result = zeros('float32', dims);
  fillNoise(result.data, scale);
  return result;
}

/** Tokens are arbitrary; each row is one text, and each token is trained. */
const intOf: Readonly<Record<string, (i: number) => number>> = { position: (i) => i, position_ids: (i) => i % shape.length, subtree_end: () => shape.length };

function stepFeeds(exe: Executable, vocab: number): Tensors {
  return Object.fromEntries([...exe.inputs].map(([name, type]) => {
    const t = type.dtype === 'float32' ? noise(type.shape, name.endsWith('norm.weight') ? 1 : 0.05) : zeros(type.dtype, type.shape);
    if (name === 'inv_temperature') (t.data as Float32Array).fill(1);
    if (type.dtype === 'int32') (t.data as Int32Array).forEach((_, i) => { t.data[i] = intOf[name]?.(i) ?? (i * 7919) % vocab; });
    return [name, t];
  }));
}

function matmulGraph(products: Product[]): GraphBuilder {
  const g = new GraphBuilder();
  for (const [i, { m, k, n, count }] of products.entries()) {
    const x = g.input(`x${i}`, 'float32', [m, k]);
    for (let c = 0; c < count; c++) g.output(`y${i} ${c}`, g.matmul(x, g.input(`w${i} ${c}`, 'float32', [k, n])));
  }
  return g;
}

async function seconds(exe: Executable, feeds: Tensors, into: Tensors): Promise<number> {
  const start = process.hrtime.bigint();
  await exe.run(feeds, into);
  return Number(process.hrtime.bigint() - start) / 1e9;
}

const { values: flags } = parseArgs({ options: { json: { type: 'boolean', default: false }, threads: { type: 'string' } } });
const options = { provider: 'cpu', ...(flags.threads ? { threads: Number(flags.threads) } : {}) } as const;

async function measure(config: DecoderConfig) {
  const { dense, attention } = forwardProducts(config);
  const step = await compile(trainingGraph(config, shape, { kind: 'supervised' }), options);
  const baseline = await compile(matmulGraph(dense), options);
  const feeds = { step: stepFeeds(step, config.vocab), baseline: Object.fromEntries([...baseline.inputs].map(([name, t]) => [name, noise(t.shape, 0.05)])) };
  const preallocate = (exe: Executable) => Object.fromEntries([...exe.outputs].map(([name, t]) => [name, zeros(t.dtype, t.shape)]));
  const into = { step: preallocate(step), baseline: preallocate(baseline) };

  const times: { step: number[]; baseline: number[] } = { step: [], baseline: [] };
  for (let round = -1; round < ROUNDS; round++) {
    const [b, s] = [await seconds(baseline, feeds.baseline, into.baseline), await seconds(step, feeds.step, into.step)];
    // The first round pays for memory and is not counted.
    if (round >= 0) { times.baseline.push(b); times.step.push(s); }
  }
  if (!Number.isFinite(into.step['loss']?.data[0])) throw new Error('the training step computed a loss that is not finite');

  const stepRate = 3 * total([...dense, attention]) / median(times.step);
  const baselineRate = total(dense) / median(times.baseline);
  const parameters = [...step.inputs].filter(([name]) => name.startsWith('model.')).reduce((sum, [, t]) => sum + elementCount(t.shape), 0);
  await step.release();
  await baseline.release();
  return { gemm_ratio: significant(stepRate / baselineRate), step_gflops: significant(stepRate / 1e9), matmul_gflops: significant(baselineRate / 1e9), step_s: significant(median(times.step)), parameters };
}

const result = { ...await measure(small), '0.5b_layers': await measure(wide) };
if (flags.json) console.log(JSON.stringify(result));
else {
  for (const { parameters, step_s, step_gflops, matmul_gflops, gemm_ratio } of [result, result['0.5b_layers']]) {
    console.log(`${(parameters / 1e6).toFixed(1)} M parameters: step ${step_s} s, ${step_gflops} GFLOP/s; matmul ${matmul_gflops} GFLOP/s; ratio ${gemm_ratio}`);
  }
}
