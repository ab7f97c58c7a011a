import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readAdapter } from '../../../trainer/models/adapter-folder.ts';
import { loadModel, saveModel } from '../../../trainer/models/model-folder.ts';
import type { ParameterBlock } from '../../../trainer/models/weights.ts';
import { Learner, type Execution } from '../../../trainer/policy/learner.ts';
import { loadPolicy } from '../../../trainer/policy/load-policy.ts';
import { supervisedStep } from '../../../trainer/policy/supervised.ts';
import { loraTargets } from '../../../trainer/protocol/lora-config.ts';
import { tinyFamilies } from '../../fixtures/tiny-families.ts';
import { findTransformers, trainInPython, type TrainingJob } from '../../fixtures/transformers.ts';
import { engine, randomTokens, smallWeights } from '../../unit/models/small-model.ts';

const rows = [40, 9, 25, 33].map((length, i) => ({ tokens: randomTokens(length, i + 1, 320), mask: Array.from({ length }, (_, t) => (t >= Math.ceil(length / 3) ? 1 : 0)) }));
const settings = { steps: 3, lr: 1e-3, betas: [0.9, 0.95] as [number, number], weight_decay: 0.1, max_grad_norm: 1 };
/** Small alphas: where factors make the loss steep, float32 of either side is too coarse to compare steps. */
const adapters: Record<string, Omit<NonNullable<TrainingJob['adapter']>, 'folder'>> = {
  'Qwen2.5': { r: 4, lora_alpha: 8, use_rslora: false, target_modules: ['v_proj', 'q_proj'] },
  'Llama 3': { r: 3, lora_alpha: 2, use_rslora: true, target_modules: loraTargets },
  'Gemma 3': { r: 8, lora_alpha: 16, use_rslora: false, target_modules: ['down_proj', 'o_proj'] },
};
const whole = ['Qwen3', 'Llama 3', 'Gemma 2'];

describe('training steps of PyTorch', () => {
  let folder: string;
  let theirs: { loss: number; grad_norm: number }[][];
  const at = (name: string) => path.join(folder, name.replaceAll(' ', '-'));
  const jobs: (TrainingJob & { name: string })[] = [];
  before(async function () {
    this.timeout(300_000);
    const found = await findTransformers();
    if ('missing' in found) {
      process.stdout.write(`      ${found.missing}\n`);
      return this.skip();
    }
    folder = mkdtempSync(path.join(tmpdir(), 'training-'));
    for (const name of new Set([...Object.keys(adapters), ...whole])) {
      const { config, tokenizer } = tinyFamilies[name]!;
      mkdirSync(at(name));
      await saveModel(at(name), { config, weights: smallWeights(config, 1, 0.1) });
      writeFileSync(path.join(at(name), 'tokenizer.json'), JSON.stringify(tokenizer.tokenizer));
    }
    for (const [name, adapter] of Object.entries(adapters)) jobs.push({ name, base: at(name), adapter: { folder: at(`adapter ${name}`), ...adapter }, out: at(`adapter after ${name}`), rows, ...settings });
    for (const name of whole) jobs.push({ name, base: at(name), adapter: null, out: at(`after ${name}`), rows, ...settings });
    theirs = await trainInPython(found.python, jobs);
  });
  after(() => { if (folder) rmSync(folder, { recursive: true }); });

  /** The same steps of ours: losses, gradient norms, and the largest difference of what was trained. */
  async function compared({ base, adapter, out }: TrainingJob, expected: { loss: number; grad_norm: number }[], execution: Execution) {
    const { config, weights } = await loadPolicy(base, 'cpu', adapter && { adapter: adapter.folder, base: 'float32' });
    const before = weights.trainable.flat.slice();
    const learner = new Learner(config, weights, engine, execution);
    const most = { loss: 0, grad_norm: 0 };
    for (const step of expected) {
      const metrics = await supervisedStep(learner, rows, { ...settings, micro_batch_tokens: 64 });
      for (const name of ['loss', 'grad_norm'] as const) most[name] = Math.max(most[name], Math.abs(metrics[name] - step[name]) / step[name]);
    }
    await learner.release();
    const trained: ParameterBlock = adapter ? (await readAdapter(out, config)).factors : (await loadModel(out)).weights;
    const distance = (a: Float32Array, b: Float32Array) => a.reduce((far, value, i) => Math.max(far, Math.abs(value - b[i]!)), 0);
    const far = weights.trainable.flat.reduce((count, value, i) => count + (Math.abs(value - trained.flat[i]!) > 1e-5 ? 1 : 0), 0);
    return { ...most, far, weights: distance(weights.trainable.flat, trained.flat), moved: distance(weights.trainable.flat, before) };
  }

  for (const execution of ['whole', 'layers'] as const) {
    it(`as ${execution}: an adapter that PEFT made goes on as there, and a whole model as in transformers`, async () => {
      for (const [i, job] of jobs.entries()) {
        const { loss, grad_norm, weights, far, moved } = await compared(job, theirs[i]!, execution);
        const what = `${job.name}${job.adapter ? ', LoRA' : ''}`;
        process.stdout.write(`      ${what}: after 3 steps max |Δweight| ${weights.toExponential(1)} (moved by ${moved.toExponential(1)}; ${far} above 1e-5), relative |Δloss| ${loss.toExponential(1)}, |Δ‖g‖| ${grad_norm.toExponential(1)}\n`);
        assert.ok(moved > 1e-3, `${what}: the steps matter`);
        // A whole model has weights whose gradient is as small as AdamW's epsilon (1e-8): there it is rounding that decides.
        const [most, fewest] = job.adapter ? [1e-5, 0] : [1e-4, 4];
        assert.ok(loss < 1e-6 && grad_norm < 1e-6 && weights < most && far <= fewest, `${what}: ${JSON.stringify({ loss, grad_norm, weights, far })}`);
      }
    }).timeout(120_000);
  }

  it('an adapter is read as PEFT wrote it', () => {
    const config = JSON.parse(readFileSync(path.join(at('adapter Llama 3'), 'adapter_config.json'), 'utf8')) as Record<string, unknown>;
    assert.deepEqual([config['r'], config['lora_alpha'], config['use_rslora'], config['base_model_name_or_path']], [3, 2, true, at('Llama 3')]);
  });
});
