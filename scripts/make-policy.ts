/**
 * Makes the sample agent's policy: a random corpus, a tokenizer trained on it, and a small decoder trained on it from scratch with this project's own engine.
 * Seeded: the same settings, engine and number of threads give the same files. Progress goes to stderr.
 * Run: npm run make:policy [-- --out FOLDER --steps N --threads N]
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Tokenizer } from '@huggingface/tokenizers';
import initSqlJs from 'sql.js';
import { Random } from '../examples/sql-agent/generator/random.ts';
import { decoderConfig } from '../trainer/models/decoder-config.ts';
import { saveModel } from '../trainer/models/model-folder.ts';
import { initialParameters } from '../trainer/models/weights.ts';
import { trainSupervised } from '../trainer/policy/supervised.ts';
import { lengthGroupedBatches } from './policy/batches.ts';
import { specialTokens, trainTokenizer } from './policy/bpe.ts';
import { makeCorpus, type CorpusSettings } from './policy/corpus.ts';
import { conversationEncoder } from './policy/encode.ts';

const SEED = 7;
const BATCH_SIZE = 16;
const TOKENIZER_SAMPLE = 6000; // conversations
const corpus: CorpusSettings = { seed: SEED, questionsPerSchema: 12, mendRate: 0.5, slipRate: 0.04, queryOnlyRate: 0.6 };
const sizes = { vocab: 1024, hidden: 128, intermediate: 352, layers: 4, heads: 4, kvHeads: 2, headDim: 32, contextLength: 512 };
const model = decoderConfig('qwen2', sizes, { eosIds: [specialTokens.indexOf('<|im_end|>')] });

const { values: flags } = parseArgs({
  options: {
    out: { type: 'string', default: fileURLToPath(new URL('../examples/sql-agent/policy', import.meta.url)) },
    steps: { type: 'string', default: '2500' },
    threads: { type: 'string', default: '2' },
  },
});
const log = (line: string): boolean => process.stderr.write(`${line}\n`);
const started = performance.now();
const SQL = await initSqlJs();

const sample = makeCorpus(SQL, corpus);
const texts = Array.from({ length: TOKENIZER_SAMPLE }, () => sample.next().value).flat().flatMap(({ role, content }) => [`${role}\n`, content]);
const files = trainTokenizer(texts, model.vocab, model.contextLength);
const tokenizer = new Tokenizer(files.tokenizer, files.config);
log(`tokenizer: ${model.vocab} tokens from ${texts.length} texts`);

const encode = conversationEncoder(tokenizer);
const batches = lengthGroupedBatches(makeCorpus(SQL, corpus), encode, BATCH_SIZE, new Random(SEED + 1));
const weights = initialParameters(model, SEED, 0.05);
const steps = Number(flags.steps);
let smoothed: number | null = null;
await trainSupervised({
  config: model,
  weights,
  engine: { provider: 'cpu', threads: Number(flags.threads) },
  settings: { steps, lr: 3e-3, warmup_steps: 100, final_lr_share: 0.05, betas: [0.9, 0.98], weight_decay: 0.01, max_grad_norm: 1, micro_batch_tokens: 2048 },
  batch: () => batches.next().value,
  onStep: ({ step, loss }) => {
    smoothed = smoothed === null ? loss : 0.98 * smoothed + 0.02 * loss;
    if (step % 50 === 0) log(`step ${step}/${steps}  loss ${smoothed.toFixed(4)}  ${((performance.now() - started) / 1000).toFixed(0)} s`);
  },
});

await mkdir(flags.out, { recursive: true });
await saveModel(flags.out, { config: model, weights });
await writeFile(join(flags.out, 'tokenizer.json'), `${JSON.stringify(files.tokenizer)}\n`);
await writeFile(join(flags.out, 'tokenizer_config.json'), `${JSON.stringify(files.config, null, 2)}\n`);
log(`wrote ${flags.out} after ${((performance.now() - started) / 1000).toFixed(0)} s`);
