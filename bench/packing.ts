/**
 * What packing saves: an update (forward, backward, AdamW) on packed rows and on the same rows padded, one to a row, alternately in one process.
 *
 *   npm run -s bench -- packing [--json] [--sizes 5m,135m] [--kinds group,examples] [--threads 2] [--rounds 5]
 *
 * group: 8 answers of 64 tokens to one prompt of 72. examples: 32 texts of 40 to 300 tokens that have nothing in common, the second half of each trained.
 * tokens: computed, padding included. cpu_s: least processor time of an update over the rounds, after one that compiles; least, since other programs disturb it.
 */
import { parseArgs } from 'node:util';
import { allocateParameters } from '../trainer/models/weights.ts';
import { wholeModel } from '../trainer/models/policy-weights.ts';
import { cheapestLayout, paddedLayout } from '../trainer/policy/layout.ts';
import { Learner } from '../trainer/policy/learner.ts';
import { microBatches, trainedTokens, type MicroBatch, type TokenRow } from '../trainer/policy/micro-batches.ts';
import { benchShapes, type BenchSize } from './fixtures/bench-models.ts';
import { fillNoise } from './fixtures/noise.ts';
import { significant } from './fixtures/statistics.ts';

const { values: flags } = parseArgs({ options: { json: { type: 'boolean', default: false }, sizes: { type: 'string', default: '5m,135m' }, kinds: { type: 'string', default: 'group,examples' }, threads: { type: 'string', default: '2' }, rounds: { type: 'string', default: '5' } } });
const maxTokens = 2048;
const layouts = { packed: cheapestLayout, padded: paddedLayout };

function row(length: number, token: (at: number) => number, trainedFrom: number): TokenRow {
  return { tokens: Array.from({ length }, (_, at) => token(at)), mask: Array.from({ length }, (_, at) => Number(at >= trainedFrom)), temperature: 1 };
}

const kinds: Readonly<Record<string, (vocab: number) => TokenRow[]>> = {
  group: (vocab) => Array.from({ length: 8 }, (_, answer) => row(136, (at) => (at < 72 ? at * 7919 : (answer + 1) * 104729 + at * 31) % vocab, 72)),
  examples: (vocab) => Array.from({ length: 32 }, (_, example) => {
    const length = 40 + (example * 97 + 13) % 261;
    return row(length, (at) => (example * 104729 + at * 7919 + 5) % vocab, Math.ceil(length / 2));
  }),
};

async function update(learner: Learner, batches: readonly MicroBatch[], trained: number): Promise<{ cpu: number; loss: number }> {
  const before = process.cpuUsage();
  let loss = 0;
  learner.zeroGradients();
  for (const batch of batches) loss += (await learner.backward(batch, { kind: 'supervised' }, { perToken: { weight: new Float32Array(batch.origins.length).fill(1 / trained) }, scalars: {} })).loss;
  learner.step({ lr: 0, betas: [0.9, 0.999], weight_decay: 0, max_grad_norm: 1 });
  const { user, system } = process.cpuUsage(before);
  return { cpu: (user + system) / 1e6, loss };
}

async function measure(size: BenchSize, rows: readonly TokenRow[]) {
  const config = benchShapes[size];
  const weights = allocateParameters(config);
  for (const [name, { data }] of weights.tensors) if (name.endsWith('norm.weight')) data.fill(1); else fillNoise(data, 0.035);
  const learner = new Learner(config, wholeModel(weights), { provider: 'cpu', threads: Number(flags.threads) });
  const ways = Object.entries(layouts).map(([way, layout]) => ({ way, batches: microBatches(rows, maxTokens, config, layout), cpu: [] as number[], loss: NaN }));
  for (let round = 0; round <= Number(flags.rounds); round++) {
    for (const one of ways) {
      const { cpu, loss } = await update(learner, one.batches, trainedTokens(rows));
      one.loss = loss;
      if (round > 0) one.cpu.push(cpu);
    }
  }
  await learner.release();
  const [packed, padded] = ways.map(({ batches, cpu }) => ({ tokens: batches.reduce((sum, { tokens }) => sum + tokens.length, 0), cpu_s: significant(Math.min(...cpu)) })) as [{ tokens: number; cpu_s: number }, { tokens: number; cpu_s: number }];
  const [a, b] = ways.map(({ loss }) => loss) as [number, number];
  if (!(Math.abs(a - b) < 1e-4 * Math.abs(b))) throw new Error(`the losses differ: ${a} packed, ${b} padded`);
  return { packed, padded, token_ratio: significant(packed.tokens / padded.tokens), cpu_ratio: significant(packed.cpu_s / padded.cpu_s) };
}

const results: Record<string, Awaited<ReturnType<typeof measure>>> = {};
for (const size of flags.sizes.split(',') as BenchSize[]) {
  for (const [kind, rows] of Object.entries(kinds)) if (flags.kinds.split(',').includes(kind)) results[`${size} ${kind}`] = await measure(size, rows(benchShapes[size].vocab));
}
if (flags.json) console.log(JSON.stringify(results));
else for (const [name, { packed, padded, token_ratio, cpu_ratio }] of Object.entries(results)) console.log(`${name.padEnd(15)} ${packed.tokens} tokens for ${padded.tokens} (${token_ratio}), ${packed.cpu_s} s of CPU for ${padded.cpu_s} (${cpu_ratio})`);
