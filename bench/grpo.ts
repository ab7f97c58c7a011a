/**
 * How long a step of training takes and how much memory, and how that compares with TRL and plain PyTorch.
 *
 *   npm run -s bench -- grpo [--json] [--peers] [--sizes 5m,135m] [--threads 2] [--rounds 3]
 *
 * grpo: one whole step, 8 answers of 64 tokens to one prompt of 72 tokens, a reward, one AdamW step on every parameter; no KL term, one epoch. Ours
 * goes the way of a run, from chat calls to new weights; TRL's GRPOTrainer on the CPU does the same with the same model, prompt, reward and learning rate.
 * sft: one AdamW step on 4 rows of 256 tokens, all trained; the peer is a plain PyTorch loop with fused AdamW.
 * Random weights in float32. Every implementation and kind of step has a fresh process; they run in turn, the first step is not counted, figures are
 * medians over the rounds (fewer than --rounds where 40 s have passed).
 * `peak_mb`: greatest resident memory of the process, loading included. `cores`: CPU time per wall clock; well below `--threads` means that other programs had the cores,
 * and the ratios say little, since idle threads of the peers wait spinning and ours do not. `--peers` installs them on first use (5 GB).
 */
import { parseArgs } from 'node:util';
import { benchModel, benchShapes, type BenchSize } from './fixtures/bench-models.ts';
import { median, significant } from './fixtures/statistics.ts';
import { Timed, type PeerProcess } from './peers/peer-process.ts';
import { ownSteps, pytorchSteps, trlSteps, type StepOptions } from './peers/steps.ts';

const { values: flags } = parseArgs({
  options: {
    json: { type: 'boolean', default: false }, peers: { type: 'boolean', default: false }, sizes: { type: 'string', default: '5m,135m' },
    threads: { type: 'string', default: '2' }, rounds: { type: 'string', default: '3' },
  },
});

const TIME = 40_000; // ms of rounds of a kind of step

const messages = [{ role: 'user', content: 'count the vowels of every word: the user and the system count' }]; // 72 tokens with the template
const kinds = {
  grpo: { job: { kind: 'grpo', messages, group: 8, new_tokens: 64 }, peer: 'TRL', start: trlSteps },
  sft: { job: { kind: 'sft', rows: 4, length: 256 }, peer: 'PyTorch', start: pytorchSteps },
};
const Step = Timed.extend({ sampling: Timed.shape.seconds });

interface Figures { step_s: number; sampling_s?: number; tok_s: number; cores: number; peak_mb: number; settings?: string }

/** Steps of all, in turn. */
async function measure(processes: readonly PeerProcess[], job: object): Promise<Figures[]> {
  const steps = processes.map((): Awaited<ReturnType<typeof step>>[] => []);
  const step = (process: PeerProcess, seed: number) => process.ask({ ...job, seed }, Step);
  let start = 0;
  for (let round = 0; round <= Number(flags.rounds) && (round <= 1 || performance.now() - start < TIME); round++) {
    if (round === 1) start = performance.now();
    for (const [i, process] of processes.entries()) {
      const made = await step(process, round + 1);
      if (round > 0) steps[i]?.push(made);
    }
  }
  return steps.map((made) => {
    const of = (value: (each: (typeof made)[number]) => number) => significant(median(made.map(value)));
    const settings = made[0]?.settings;
    const sampling = of((each) => each.sampling);
    return {
      step_s: of((each) => each.seconds), ...(sampling > 0 ? { sampling_s: sampling } : {}), tok_s: of((each) => each.tokens / each.seconds), cores: of((each) => each.cpu / each.seconds),
      peak_mb: Math.round(made.at(-1)?.peak_mb ?? NaN), ...(settings ? { settings } : {}),
    };
  });
}

const result: Record<string, unknown> = {};
const lines: string[] = [];
for (const size of flags.sizes.split(',') as BenchSize[]) {
  if (!(size in benchShapes)) throw new Error(`--sizes: there is no ${size}; choose from ${Object.keys(benchShapes).join(', ')}`);
  const options: StepOptions = { folder: await benchModel(size), threads: Number(flags.threads), lr: 1e-5 };
  for (const [kind, { job, peer, start }] of Object.entries(kinds)) {
    const processes = [ownSteps(options), ...(flags.peers ? [start(options)] : [])];
    const [ours, theirs] = await measure(processes, job) as [Figures, Figures?];
    for (const process of processes) await process.close();
    const compared = theirs ? { time_ratio: significant(theirs.step_s / ours.step_s), memory_ratio: significant(ours.peak_mb / theirs.peak_mb) } : {};
    result[`${size} ${kind}`] = { ours, ...(theirs ? { [peer]: theirs } : {}), ...compared };
    const line = (name: string, its: Figures) => [size.padEnd(5), kind.padEnd(5), name.padEnd(8), ...[its.step_s, its.sampling_s ?? '', its.tok_s, its.cores, its.peak_mb].map((value) => String(value).padStart(9)), its.settings ?? ''].join(' ').trimEnd();
    lines.push(line('ours', ours), ...(theirs ? [line(peer, theirs), `            ${peer}'s time / ours ${compared.time_ratio}, our memory / its ${compared.memory_ratio}`] : []));
  }
}
if (flags.json) console.log(JSON.stringify(result));
else console.log(['size  kind  which       step s  sampling     tok/s     cores   peak MB', ...lines].join('\n'));
