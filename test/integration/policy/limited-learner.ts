// Learns from rows with little memory to spare, and prints what came of it. Arguments: megabytes beyond what the process has before, tokens per row.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { decoderConfig } from '../../../trainer/models/decoder-config.ts';
import { wholeModel } from '../../../trainer/models/policy-weights.ts';
import { initialParameters } from '../../../trainer/models/weights.ts';
import { Learner } from '../../../trainer/policy/learner.ts';
import { supervisedStep } from '../../../trainer/policy/supervised.ts';
import { messageOf, TrainerError } from '../../../trainer/protocol/errors.ts';

const [megabytes, length] = process.argv.slice(2).map(Number) as [number, number];
const config = decoderConfig('llama', { vocab: 512, hidden: 128, intermediate: 352, layers: 4, heads: 8, kvHeads: 2, headDim: 16, contextLength: 8192 });
const learner = new Learner(config, wholeModel(initialParameters(config, 1)), { provider: 'cpu', threads: 1 });
const rows = (count: number, tokens: number) => Array.from({ length: count }, (_, r) => ({
  tokens: Array.from({ length: tokens }, (_, i) => (i * 31 + r) % config.vocab), mask: Array.from({ length: tokens }, (_, i) => (i > tokens / 2 ? 1 : 0)),
}));
const step = (of: ReturnType<typeof rows>) => supervisedStep(learner, of, { lr: 1e-3, betas: [0.9, 0.95], weight_decay: 0, max_grad_norm: 1, micro_batch_tokens: 16384 });

await step(rows(1, 16)); // optimiser and code are there
const size = Number(/VmSize:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) * 1024;
execFileSync('prlimit', ['--pid', String(process.pid), `--as=${size + megabytes * 2 ** 20}`]);
try {
  console.log(JSON.stringify(await step(rows(32, length))));
  console.log(JSON.stringify(await step(rows(2, 64)))); // and goes on
} catch (error) {
  console.log(JSON.stringify({ error: messageOf(error), code: error instanceof TrainerError ? error.code : null }));
}
