/**
 * How fast answers are sampled, and how that compares with `transformers.generate` and llama.cpp.
 *
 *   npm run -s bench -- sampler [--json] [--peers] [--sizes 5m,135m,0.5b] [--threads 2] [--rounds 3]
 *
 * Models of real sizes with random weights in float32, prompts of 128 random tokens (all different), 48 new tokens each, temperature 1. Every
 * implementation has a process of its own and the same model and prompts; they run in turn, and figures are medians over the rounds.
 * `tok_s`: new tokens per second of a whole call, prompts included. `decode_tok_s`: the same without the time to the first token, which is measured by calls for one
 * token. `prefill_tok_s`: prompt tokens per second of those. `cores`: CPU time per wall clock of the call; well below `--threads` means that other programs had
 * the cores, and the ratios say little, since idle threads of the peers wait spinning and ours do not. `peak_mb`: greatest resident memory of the process. The first call of each kind is not counted.
 * `--peers` installs them on first use (5 GB). transformers gets the faster attention and cache of those it has, per batch; llama.cpp a GGUF file of ours.
 */
import { parseArgs } from 'node:util';
import { benchGguf, benchModel, benchShapes, type BenchSize } from './fixtures/bench-models.ts';
import { median, significant } from './fixtures/statistics.ts';
import { Timed, type PeerProcess } from './peers/peer-process.ts';
import { llamaCppSampler, ownSampler, transformersSampler } from './peers/samplers.ts';

const PROMPT = 128;
const NEW = 48;

const { values: flags } = parseArgs({
  options: {
    json: { type: 'boolean', default: false }, peers: { type: 'boolean', default: false }, sizes: { type: 'string', default: '5m,135m,0.5b' },
    threads: { type: 'string', default: '2' }, rounds: { type: 'string', default: '3' },
  },
});
const threads = Number(flags.threads);

interface Contestant { name: string; process: PeerProcess; batches: number[] }
interface Figures { tok_s: number; decode_tok_s: number; prefill_tok_s: number; cores: number; settings?: string }

async function contestants(size: BenchSize): Promise<Contestant[]> {
  const folder = await benchModel(size);
  const ours = { name: 'ours', process: ownSampler(folder, threads), batches: [1, 8] };
  if (!flags.peers) return [ours];
  return [
    ours,
    { name: 'transformers', process: transformersSampler(folder, threads), batches: [1, 8] },
    { name: 'llama.cpp F32', process: llamaCppSampler(await benchGguf(size, 'f32'), threads), batches: [1] },
  ];
}

/** Prompts of a round, all different: equal ones would be computed once. */
function prompts(size: BenchSize, batch: number, round: number): number[][] {
  const { vocab } = benchShapes[size];
  return Array.from({ length: batch }, (_, row) => Array.from({ length: PROMPT }, (_, i) => 300 + ((round * 7919 + row * 104729 + i * 1299709) % (vocab - 300))));
}

async function measure(size: BenchSize, all: readonly Contestant[], batch: number): Promise<Map<string, Figures>> {
  const times = new Map<string, { first: number[]; whole: number[]; cores: number[]; settings: string | undefined }>();
  for (let round = -1; round < Number(flags.rounds); round++) {
    for (const { name, process, batches } of all) {
      if (!batches.includes(batch)) continue;
      const ask = async (new_tokens: number, seed: number) => {
        const answer = await process.ask({ prompts: prompts(size, batch, seed), new_tokens, seed }, Timed);
        if (answer.tokens !== batch * new_tokens) throw new Error(`${name} made ${answer.tokens} tokens in place of ${batch * new_tokens}`);
        return answer;
      };
      const first = await ask(1, 2 * round + 3);
      const whole = await ask(NEW, 2 * round + 4);
      if (round < 0) times.set(name, { first: [], whole: [], cores: [], settings: whole.settings });
      else {
        const its = times.get(name);
        its?.first.push(first.seconds);
        its?.whole.push(whole.seconds);
        its?.cores.push(whole.cpu / whole.seconds);
      }
    }
  }
  return new Map([...times].map(([name, { first, whole, cores, settings }]) => {
    const [one, full] = [median(first), median(whole)];
    return [name, {
      tok_s: significant(batch * NEW / full), decode_tok_s: significant(batch * (NEW - 1) / (full - one)), prefill_tok_s: significant(batch * PROMPT / one),
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
  for (const batch of [1, 8]) {
    const figures = await measure(size, all, batch);
    const ours = figures.get('ours') as Figures;
    for (const [name, its] of figures) {
      const ratio = significant(ours.tok_s / its.tok_s);
      const decode_ratio = significant(ours.decode_tok_s / its.decode_tok_s);
      sized[`${name} batch ${batch}`] = { ...its, ...(name === 'ours' ? {} : { ratio, decode_ratio }) };
      lines.push([size.padEnd(5), String(batch).padStart(5), name.padEnd(14), ...[its.tok_s, its.decode_tok_s, its.prefill_tok_s, its.cores].map((value) => String(value).padStart(8)),
        ...(name === 'ours' ? [] : [`ours / this ${ratio} (decoding alone ${decode_ratio})`, its.settings ?? ''])].join('  ').trimEnd());
    }
  }
  for (const { name, process } of all) {
    const { peak_mb } = await process.ask({ prompts: prompts(size, 1, 0), new_tokens: 1, seed: 0 }, Timed);
    sized[`${name} peak_mb`] = Math.round(peak_mb);
    await process.close();
  }
}
if (flags.json) console.log(JSON.stringify(result));
else console.log(['size   batch  which              tok/s    decode   prefill     cores', ...lines].join('\n'));
