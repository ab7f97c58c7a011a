// Makes two steps of learning in one way and prints, in bytes, what memory they took at most (the growth of the largest resident set since before the model), and what was estimated.
// Argument: JSON of a MeasuredStep: `lora` is the rank, 0 for the whole model; `batch` rows of `length` tokens, the last `trained` of each trained.
import { readFileSync, writeFileSync } from 'node:fs';
import { decoderConfig, type DecoderConfig } from '../../../trainer/models/decoder-config.ts';
import { initialFactors } from '../../../trainer/models/lora.ts';
import { wholeModel, type PolicyWeights } from '../../../trainer/models/policy-weights.ts';
import { initialParameters } from '../../../trainer/models/weights.ts';
import { Learner } from '../../../trainer/policy/learner.ts';
import { activationBytes, type Way } from '../../../trainer/policy/memory.ts';
import { microBatches } from '../../../trainer/policy/micro-batches.ts';
import { supervisedStep } from '../../../trainer/policy/supervised.ts';
import { frozenBase } from '../../fixtures/lora.ts';

interface MeasuredStep { sizes: Parameters<typeof decoderConfig>[1]; lora: number; way: Way; batch: number; length: number; trained: number }

const { sizes, lora: rank, way, batch, length, trained } = JSON.parse(process.argv[2] ?? '') as MeasuredStep;
const lora = { rank, alpha: 16, targets: ['q_proj', 'v_proj', 'down_proj'], rslora: false } as const;
const config = decoderConfig('llama', sizes);
const modelOf = (of: DecoderConfig): PolicyWeights => (rank > 0 ? { trainable: initialFactors(of, lora, 1), frozen: { base: frozenBase(initialParameters(of, 1)), lora } } : wholeModel(initialParameters(of, 1)));
const status = (field: string) => 1024 * Number(new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);

async function learn(of: DecoderConfig, rows: number, tokens: number, count: number): Promise<void> {
  const model = modelOf(of);
  const learner = new Learner(of, model, { provider: 'cpu', threads: 1 }, way);
  const batch = Array.from({ length: rows }, (_, r) => ({ tokens: Array.from({ length: tokens }, (_, i) => (i * 31 + r * 7 + 1) % of.vocab), mask: Array.from({ length: tokens }, (_, i) => (i >= tokens - count ? 1 : 0)) }));
  for (let step = 0; step < 2; step++) await supervisedStep(learner, batch, { lr: 1e-3, betas: [0.9, 0.95], weight_decay: 0, max_grad_norm: 1, micro_batch_tokens: 1e9 });
  if (of === config) {
    const measured = status('VmHWM') - before;
    const { frozen } = model;
    const held = 4 * (4 * learner.weights.flat.length + [...frozen?.base.tensors.values() ?? []].reduce((sum, { data }) => sum + data.length, 0)); // weights, gradients, moments
    const shapes = microBatches(batch.map((row) => ({ ...row, temperature: 1 })), 1e9, of).map(({ shape }) => shape);
    console.log(JSON.stringify({ measured, estimated: held + Math.max(...shapes.map((shape) => activationBytes(of, shape, way, frozen !== null))), held, shapes }));
  }
  await learner.release();
}

let before = 0;
await learn({ ...config, vocab: 64, hidden: 32, intermediate: 32, layers: 1, heads: 1, kvHeads: 1, headDim: 32 }, 1, 16, 8); // code and library are there
writeFileSync('/proc/self/clear_refs', '5'); // the largest resident set begins anew
before = status('VmRSS');
await learn(config, batch, length, trained);
