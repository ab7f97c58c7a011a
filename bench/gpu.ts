// What bench/gpu.sh runs: each provider is checked against the CPU and timed, in a process of its own that may crash or hang.
import { fork, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { cases } from '../test/unit/engine/cases.ts';
import { evaluate, largestError } from '../test/unit/engine/evaluate.ts';
import { selfTest } from '../trainer/engine/self-test.ts';
import { decoderConfig, type DecoderConfig } from '../trainer/models/decoder-config.ts';
import { initialFactors, type LoraSettings } from '../trainer/models/lora.ts';
import { wholeModel } from '../trainer/models/policy-weights.ts';
import { initialParameters } from '../trainer/models/weights.ts';
import { DecodeModel } from '../trainer/policy/decode-model.ts';
import { Learner } from '../trainer/policy/learner.ts';
import { candidates, thisPlatform } from '../trainer/policy/provider/candidates.ts';
import { plainReason } from '../trainer/policy/provider/probe.ts';
import { timeProvider } from '../trainer/policy/provider/time-provider.ts';
import { rowLogprobs } from '../trainer/policy/row-logprobs.ts';
import { supervisedStep } from '../trainer/policy/supervised.ts';
import { messageOf } from '../trainer/protocol/errors.ts';
import type { Provider, ProviderTiming } from '../trainer/protocol/providers.ts';

const threads = availableParallelism();
const tolerance = 1e-3; // of the larger of 1 and the largest value; sines and exponentials of GPUs are good to about 2e-4
const small = decoderConfig('qwen2', { vocab: 256, hidden: 64, intermediate: 128, layers: 2, heads: 4, kvHeads: 2, headDim: 16, contextLength: 128 });
const factors: LoraSettings = { rank: 4, alpha: 8, targets: ['q_proj', 'v_proj', 'down_proj'], rslora: false };
const sizes: Readonly<Record<string, DecoderConfig>> = {
  'demo (0.9 M)': decoderConfig('qwen2', { vocab: 768, hidden: 128, intermediate: 352, layers: 4, heads: 4, kvHeads: 2, headDim: 32, contextLength: 512 }),
  '0.5 B wide, 4 layers': decoderConfig('qwen2', { vocab: 8192, hidden: 896, intermediate: 4864, layers: 4, heads: 14, kvHeads: 2, headDim: 64, contextLength: 512 }),
  '3 B wide, 2 layers': decoderConfig('qwen2', { vocab: 8192, hidden: 2048, intermediate: 11008, layers: 2, heads: 16, kvHeads: 2, headDim: 128, contextLength: 512 }),
};

type Step = 'self-test' | 'operators' | 'training' | 'LoRA training' | 'decoding' | `time ${string}`;
/** `value`: the largest error, or times. */
interface Finding { step: Step; ok: boolean; value?: number | ProviderTiming; note?: string }

const { values: flags } = parseArgs({ options: { gpu: { type: 'string', default: 'yes' }, json: { type: 'string' }, 'no-demo': { type: 'boolean', default: false }, check: { type: 'string' } } });
if (flags.check) await check(flags.check as Provider);
else process.exitCode = await report();

/** Child: findings go to the parent one by one, so that a crash costs the rest alone. */
async function check(provider: Provider): Promise<void> {
  const tell = (finding: Finding) => new Promise<void>((resolve) => { process.send?.(finding, () => { resolve(); }); });
  const attempt = async (step: Step, run: () => Promise<number | ProviderTiming | undefined>) => {
    try {
      const value = await run();
      const ok = typeof value !== 'number' || value < tolerance;
      await tell({ step, ok, ...(value === undefined ? {} : { value }), ...(ok ? {} : { note: `differs from the CPU by ${value}` }) });
      return ok;
    } catch (error) {
      await tell({ step, ok: false, note: plainReason(messageOf(error)) });
      return false;
    }
  };
  if (await attempt('self-test', async () => { await selfTest({ provider, threads }); return undefined; })) {
    if (provider !== 'cpu') {
      await attempt('operators', () => operatorError(provider));
      await attempt('training', async () => difference(await training(provider, null), await training('cpu', null)));
      await attempt('LoRA training', async () => difference(await training(provider, factors), await training('cpu', factors)));
      await attempt('decoding', async () => difference(await decoding(provider), await decoding('cpu')));
    }
    for (const [name, config] of Object.entries(flags.gpu === 'no' ? {} : sizes)) await attempt(`time ${name}`, () => timeProvider(config, { provider, threads }));
  }
  process.exit(0);
}

async function operatorError(provider: Provider): Promise<number> {
  let worst = 0;
  for (const one of cases) {
    const [there, here] = [await evaluate(one, 'float32', { provider }), await evaluate(one, 'float32', { provider: 'cpu' })];
    worst = Math.max(worst, largestError(there.output, here.output), ...there.grads.map((grad, i) => largestError(grad, here.grads[i] as number[])));
    await there.release();
    await here.release();
  }
  return worst;
}

/** Losses, gradient norms and log-probabilities of three steps on rows that begin alike, of the model or of factors beside it. */
async function training(provider: Provider, lora: LoraSettings | null): Promise<number[]> {
  const rows = [20, 31, 40].map((length, row) => ({ tokens: Array.from({ length }, (_, t) => ((t < 8 ? 0 : row * 71) + t * 37) % small.vocab), mask: Array.from({ length }, (_, t) => Number(t > 4)), temperature: 1 }));
  const base = initialParameters(small, 1, 0.1);
  const learner = new Learner(small, lora ? { trainable: initialFactors(small, lora, 1), frozen: { base: { type: 'float32', tensors: base.tensors }, lora } } : wholeModel(base), { provider, threads });
  const results: number[] = [];
  for (let step = 0; step < 3; step++) {
    const { loss, grad_norm } = await supervisedStep(learner, rows, { lr: 1e-3, betas: [0.9, 0.95], weight_decay: 0.01, max_grad_norm: 1, micro_batch_tokens: 128 });
    results.push(loss, grad_norm);
  }
  for (const row of await rowLogprobs(learner, rows, 128)) results.push(...row);
  await learner.release();
  return results;
}

/** Logits after a prompt and two more tokens. */
async function decoding(provider: Provider): Promise<number[]> {
  const model = new DecodeModel(small, wholeModel(initialParameters(small, 1, 0.1)), { provider, threads }, 2);
  const results = (await model.extend(0, [[5, 9, 3, 77, 8], [1, 2, 3, 4, 5, 6, 7]], [true, true])).flatMap((logits) => [...logits as Float32Array]);
  for (const token of [11, 12]) results.push(...(await model.step([token, token + 1])).logits);
  await model.release();
  return results;
}

function difference(there: number[], here: number[]): number { return largestError(there, here); }

/** Parent. Returns the exit code. */
async function report(): Promise<number> {
  const findings = new Map<Provider, Finding[]>();
  const refused: [Provider, string][] = [];
  for (const { provider, missing } of candidates(thisPlatform())) {
    if (missing === null) findings.set(provider, await inProcess(provider));
    else refused.push([provider, missing]);
  }
  const rows = [...findings].flatMap(([provider, list]) => list.map((finding) => [provider, finding.step, outcome(provider, finding), text(finding, findings)]));
  for (const row of [...rows, ...refused.map(([provider, why]) => [provider, '-', 'missing', why])]) process.stdout.write(`${row[0]!.padEnd(12)}${row[1]!.padEnd(28)}${row[2]!.padEnd(9)}${row[3]}\n`);

  // A provider without an adapter is absent, not wrong.
  const present = [...findings].filter(([provider, list]) => provider === 'cpu' || (list[0]?.ok ?? false));
  const wrong = present.some(([, list]) => list.some(({ ok }) => !ok));
  const accelerated = present.some(([provider]) => provider !== 'cpu') && flags.gpu !== 'no';
  const demo = accelerated && !wrong && !flags['no-demo'] ? runDemo() : null;
  if (flags.json) writeFileSync(flags.json, `${JSON.stringify({ findings: Object.fromEntries(findings), refused: Object.fromEntries(refused), demo }, null, 2)}\n`);
  if (wrong || demo?.ok === false) return 1;
  if (accelerated) return 0;
  process.stdout.write(flags.gpu === 'no' ? 'no GPU here\n' : 'there is a GPU, and no provider can use it: see above\n');
  return flags.gpu === 'no' ? 3 : 1;
}

/** A provider that does not pass the self-test is not used: it is refused, not wrong. */
function outcome(provider: Provider, { ok, step }: Finding): string {
  if (ok) return 'ok';
  return step === 'self-test' && provider !== 'cpu' ? 'refused' : 'FAILED';
}

function inProcess(provider: Provider): Promise<Finding[]> {
  const list: Finding[] = [];
  const child = fork(fileURLToPath(import.meta.url), ['--check', provider, '--gpu', flags.gpu], { execArgv: ['--import', 'tsx'], stdio: ['ignore', 2, 2, 'ipc'] });
  const limit = setTimeout(() => { child.kill('SIGKILL'); }, flags.gpu === 'no' ? 900_000 : 240_000); // software is slow
  child.on('message', (finding) => {
    list.push(finding as Finding); // of this same file
    process.stderr.write(`${provider} ${list.at(-1)!.step}\n`);
  });
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      clearTimeout(limit);
      if (code !== 0) list.push({ step: list.length === 0 ? 'self-test' : 'decoding', ok: false, note: `its process ended with ${signal ?? `code ${code}`} after ${list.at(-1)?.step ?? 'it began'}` });
      resolve(list);
    });
  });
}

/** Errors as they are; times with their rates, against the CPU. */
function text({ step, value, note }: Finding, findings: Map<Provider, Finding[]>): string {
  if (note !== undefined || value === undefined) return note ?? '';
  if (typeof value === 'number') return `largest difference ${value.toExponential(1)}`;
  const config = sizes[step.slice('time '.length)];
  if (!config) return '';
  const parameters = initialParameters(config, 1, 0).flat.length;
  const cpu = findings.get('cpu')?.find((finding) => finding.step === step)?.value as ProviderTiming | undefined;
  const gflops = 6 * parameters * 252 / value.train_ms / 1e6; // 4 rows of 63 predictions
  const bandwidth = 4 * parameters / value.decode_ms / 1e6;
  return `train ${value.train_ms.toFixed(1)} ms (${gflops.toFixed(0)} GFLOP/s), decode ${value.decode_ms.toFixed(2)} ms (${bandwidth.toFixed(0)} GB/s of weights)${cpu ? `, ${(cpu.per_token / value.per_token).toPrecision(2)} × CPU` : ''}`;
}

/** The demo, on the provider that it chooses itself. */
function runDemo(): { ok: boolean; output: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/demo.mjs', '--json'], { encoding: 'utf8', timeout: 300_000, stdio: ['ignore', 'pipe', 'pipe'] });
  const chosen = /.* runs on .*/.exec(stderr)?.[0] ?? '';
  process.stdout.write(`demo ${status === 0 ? 'ok' : 'FAILED'} ${chosen}\n${stdout}`);
  return { ok: status === 0, output: stdout };
}
