/**
 * How fast answers are sampled, in float32 and in int8 (`sampling.dtype`), and how that compares with `transformers.generate` and llama.cpp (F32 and Q8_0).
 *
 *   npm run -s bench -- sampler [--json] [--peers] [--sizes 5m,135m,0.5b] [--threads 2] [--rounds 3]
 *
 * Models of real sizes with random weights in float32, prompts of 128 random tokens, 48 new tokens each (0.5b: 16), temperature 1. Every implementation has a
 * process of its own and the same model and prompts; they run in turn, and figures are medians over the rounds (fewer than --rounds where 30 s have passed).
 * `1`, `8`: that many different prompts. `group of 8`: 8 answers to one prompt, as GRPO asks for; ours computes it once, and transformers, which computes it for each
 * answer, takes as long as for 8 prompts.
 * `tok_s`: new tokens per second of a whole call, prompts included. `decode_tok_s`: the same without the time to the first token, which is measured by calls for one
 * token. `prefill_tok_s`: prompt tokens per second of those. `cores`: CPU time per wall clock of the call; well below `--threads` means that other programs had
 * the cores, and the ratios say little, since idle threads of the peers wait spinning and ours do not. `peak_mb`: greatest resident memory of the process. A first call of each batch is not counted.
 * `--peers` installs them on first use (5 GB). transformers gets the faster attention and cache of those it has, per batch; llama.cpp a GGUF file of ours.
 */
import { parseArgs } from 'node:util';
import { benchGguf, benchModel, benchShapes, type BenchSize } from './fixtures/bench-models.ts';
import { median, significant } from './fixtures/statistics.ts';
import { Timed, type PeerProcess } from './peers/peer-process.ts';
import { llamaCppSampler, ownSampler, transformersSampler } from './peers/samplers.ts';

const PROMPT = 128;
const newTokens: Record<BenchSize, number> = { '5m': 48, '135m': 48, '0.5b': 16 };
const TIME = 30_000; // ms of rounds of a batch

const { values: flags } = parseArgs({
  options: {
    json: { type: 'boolean', default: false }, peers: { type: 'boolean', default: false }, sizes: { type: 'string', default: '5m,135m,0.5b' },
    threads: { type: 'string', default: '2' }, rounds: { type: 'string', default: '3' },
  },
});
const threads = Number(flags.threads);

/** `beside`: which of ours its ratio is to. */
interface Contestant { name: string; beside: 'ours' | 'ours int8'; process: PeerProcess; batches: Batch[] }
interface Figures { tok_s: number; decode_tok_s: number; prefill_tok_s: number; cores: number; settings?: string }

async function contestants(size: BenchSize): Promise<Contestant[]> {
  const folder = await benchModel(size);
  const ours: Contestant[] = [
    { name: 'ours', beside: 'ours', process: ownSampler(folder, threads), batches: ['1', '8', 'group of 8'] },
    { name: 'ours int8', beside: 'ours', process: ownSampler(folder, threads, 'int8'), batches: ['1', '8', 'group of 8'] },
  ];
  if (!flags.peers) return ours;
  return [
    ...ours,
    { name: 'transformers', beside: 'ours', process: transformersSampler(folder, threads), batches: ['1', '8'] },
    { name: 'llama.cpp F32', beside: 'ours', process: llamaCppSampler(await benchGguf(size, 'f32'), threads), batches: ['1'] },
    { name: 'llama.cpp Q8_0', beside: 'ours int8', process: llamaCppSampler(await benchGguf(size, 'q8_0'), threads), batches: ['1'] },
  ];
}

type Batch = '1' | '8' | 'group of 8';
const rowsOf = (batch: Batch) => (batch === '1' ? 1 : 8);

/** Prompts of a call, other ones in every call: known ones would not be computed again. */
function prompts(size: BenchSize, batch: Batch, call: number): number[][] {
  const { vocab } = benchShapes[size];
  return Array.from({ length: rowsOf(batch) }, (_, row) => Array.from({ length: PROMPT }, (_, i) => 300 + ((call * 7919 + (batch === '8' ? row : 0) * 104729 + i * 1299709) % (vocab - 300))));
}

async function measure(size: BenchSize, all: readonly Contestant[], batch: Batch): Promise<Map<string, Figures>> {
  const rows = rowsOf(batch);
  const most = newTokens[size];
  const calls = all.filter(({ batches }) => batches.includes(batch)).map(({ name, process }) => {
    const ask = async (new_tokens: number, call: number) => {
      const answer = await process.ask({ prompts: prompts(size, batch, call), new_tokens, seed: call }, Timed);
      if (answer.tokens !== rows * new_tokens) throw new Error(`${name} made ${answer.tokens} tokens in place of ${rows * new_tokens}`);
      return answer;
    };
    return { name, ask, first: [] as number[], whole: [] as number[], cores: [] as number[], settings: undefined as string | undefined };
  });
  for (const each of calls) each.settings = (await each.ask(most, 1)).settings;
  const start = performance.now();
  for (let round = 1; round <= Number(flags.rounds) && (round === 1 || performance.now() - start < TIME); round++) {
    for (const { ask, first, whole, cores } of calls) {
      first.push((await ask(1, 2 * round)).seconds);
      const { seconds, cpu } = await ask(most, 2 * round + 1);
      whole.push(seconds);
      cores.push(cpu / seconds);
    }
  }
  return new Map(calls.map(({ name, first, whole, cores, settings }) => {
    const [one, full] = [median(first), median(whole)];
    return [name, {
      tok_s: significant(rows * most / full), decode_tok_s: significant(rows * (most - 1) / (full - one)), prefill_tok_s: significant((batch === '8' ? 8 : 1) * PROMPT / one),
      cores: significant(median(cores)), ...(settings ? { settings } : {}),
    }];
  }));
}

const result: Record<string, Record<string, unknown>> = {};
const lines: string[] = [];
for (const size of flags.sizes.split(',') as BenchSize[]) {
  if (!(size in benchShapes)) throw new Error(`--sizes: there is no ${size}; choose from ${Object.keys(benchShapes).join(', ')}`);
  const all = await contestants(size);
  const sized: Record<string, unknown> = result[size] = {};
  let peers = new Map<string, Figures>();
  for (const batch of ['1', '8', 'group of 8'] as const) {
    const figures = await measure(size, all, batch);
    // Of a group, transformers' figures are those of as many prompts.
    if (batch !== 'group of 8') peers = new Map([...figures].filter(([name]) => !name.startsWith('ours')));
    for (const [name, its] of new Map([...figures, ...peers])) {
      const ours = figures.get(all.find((each) => each.name === name)?.beside ?? 'ours') as Figures;
      const ratio = significant(ours.tok_s / its.tok_s);
      const decode_ratio = significant(ours.decode_tok_s / its.decode_tok_s);
      sized[`${name} batch ${batch}`] = { ...its, ...(name === 'ours' ? {} : { ratio, decode_ratio }) };
      lines.push([size.padEnd(5), batch.padEnd(10), name.padEnd(14), ...[its.tok_s, its.decode_tok_s, its.prefill_tok_s, its.cores].map((value) => String(value).padStart(8)),
        ...(name === 'ours' ? [] : [`${all.find((each) => each.name === name)?.beside} / this ${ratio} (decoding alone ${decode_ratio})`, its.settings ?? ''])].join('  ').trimEnd());
    }
  }
  for (const { name, process } of all) {
    const { peak_mb } = await process.ask({ prompts: prompts(size, '1', 0), new_tokens: 1, seed: 0 }, Timed);
    sized[`${name} peak_mb`] = Math.round(peak_mb);
    await process.close();
  }
}
if (flags.json) console.log(JSON.stringify(result));
else console.log(['size   batch       which              tok/s    decode   prefill     cores', ...lines].join('\n'));
