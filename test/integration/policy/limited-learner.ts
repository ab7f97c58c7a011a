// Learns from rows of a length (argument, tokens) and prints what came of it. Memory is limited from outside.
import { decoderConfig } from '../../../trainer/models/decoder-config.ts';
import { wholeModel } from '../../../trainer/models/policy-weights.ts';
import { initialParameters } from '../../../trainer/models/weights.ts';
import { Learner } from '../../../trainer/policy/learner.ts';
import { supervisedStep } from '../../../trainer/policy/supervised.ts';
import { messageOf, TrainerError } from '../../../trainer/protocol/errors.ts';

const length = Number(process.argv[2]);
const config = decoderConfig('llama', { vocab: 512, hidden: 128, intermediate: 352, layers: 4, heads: 8, kvHeads: 2, headDim: 16, contextLength: 8192 });
const learner = new Learner(config, wholeModel(initialParameters(config, 1)), { provider: 'cpu', threads: 1 });
const rows = (count: number, tokens: number) => Array.from({ length: count }, (_, r) => ({
  tokens: Array.from({ length: tokens }, (_, i) => (i * 31 + r) % config.vocab), mask: Array.from({ length: tokens }, (_, i) => (i > tokens / 2 ? 1 : 0)),
}));
const step = (of: ReturnType<typeof rows>) => supervisedStep(learner, of, { lr: 1e-3, betas: [0.9, 0.95], weight_decay: 0, max_grad_norm: 1, micro_batch_tokens: 16384 });

try {
  console.log(JSON.stringify(await step(rows(32, length))));
  console.log(JSON.stringify(await step(rows(2, 64)))); // and goes on
} catch (error) {
  console.log(JSON.stringify({ error: messageOf(error), code: error instanceof TrainerError ? error.code : null }));
}
