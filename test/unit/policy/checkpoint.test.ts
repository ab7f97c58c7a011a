import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { wholeModel } from '../../../trainer/models/policy-weights.ts';
import type { SupervisedRow } from '../../../trainer/policy/supervised.ts';
import type { ParameterBlock } from '../../../trainer/models/weights.ts';
import { movedAverage } from '../../../trainer/policy/weight-average.ts';
import { loadModel, saveModel } from '../../../trainer/models/model-folder.ts';
import { readCheckpoint, writeCheckpoint } from '../../../trainer/policy/checkpoint.ts';
import { Learner } from '../../../trainer/policy/learner.ts';
import { microBatches } from '../../../trainer/policy/micro-batches.ts';
import { engine, randomTokens, smallConfig, smallWeights } from '../models/small-model.ts';

describe('checkpoints', () => {
  let folder: string;
  let source: string;
  beforeEach(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'checkpoint-'));
    source = path.join(folder, 'source');
    await writeSource(source);
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const rows: SupervisedRow[] = [11, 17].map((length) => ({ tokens: randomTokens(length, length), mask: Array.from({ length }, (_, i) => (i > 0 ? 1 : 0)) }));

  async function train(learner: Learner, steps: number): Promise<void> {
    for (let i = 0; i < steps; i++) {
      learner.zeroGradients();
      for (const batch of microBatches(rows.map((row) => ({ ...row, temperature: 1 })), 1024, smallConfig)) {
        await learner.backward(batch, { kind: 'supervised' }, { perToken: { weight: new Float32Array(batch.origins.length).fill(1 / 26) }, scalars: {} });
      }
      learner.step({ lr: 0.01, betas: [0.9, 0.95], weight_decay: 0.1, max_grad_norm: 1 });
    }
  }

  it('save, restore and go on: bit for bit the run that was never interrupted', async () => {
    const [straight, first, second] = [0, 1, 2].map(() => new Learner(smallConfig, wholeModel(smallWeights()), engine)) as [Learner, Learner, Learner];
    await train(straight, 6);
    await train(first, 3);
    const target = path.join(folder, 'c');
    await writeCheckpoint(target, source, wholeModel(first.weights), { version: 3, optimizer: first.optimizerState, average: null });
    const { version, weights, optimizer } = await readCheckpoint(target, smallConfig, null);
    assert.equal(version, 3);
    second.weights.flat.set(weights.flat);
    second.restoreOptimizer(optimizer);
    await train(second, 3);
    assert.deepEqual(second.snapshot(), straight.snapshot());
    for (const learner of [straight, first, second]) await learner.release();
  });

  it('keeps the moving average of the weights, whose values are those of its formula', async () => {
    const weights = [1, 2, 3].map((seed) => smallWeights(smallConfig, seed));
    const average = weights.reduce<ParameterBlock | null>((sofar, next) => movedAverage(sofar, next, 0.75), null)!;
    const [a, b, c] = weights.map(({ flat }) => flat);
    average.flat.forEach((value, i) => assert.ok(Math.abs(value - (0.5625 * a![i]! + 0.1875 * b![i]! + 0.25 * c![i]!)) < 1e-6));
    const target = path.join(folder, 'c');
    await writeCheckpoint(target, source, wholeModel(weights[2]!), { version: 3, optimizer: null, average });
    assert.deepEqual((await readCheckpoint(target, smallConfig, null)).average, average);
  });

  it('with moments or an average that are not finite is damaged: going on would spoil the weights', async () => {
    const learner = new Learner(smallConfig, wholeModel(smallWeights()), engine);
    await train(learner, 1);
    const optimizer = structuredClone(learner.optimizerState)!;
    await learner.release();
    const average = smallWeights(smallConfig, 2);
    const save = (name: string) => writeCheckpoint(path.join(folder, name), source, wholeModel(smallWeights()), { version: 1, optimizer, average });
    (optimizer.secondMoments['model.norm.weight']!.data as Float32Array)[1] = Infinity;
    await save('moments');
    await assert.rejects(readCheckpoint(path.join(folder, 'moments'), smallConfig, null), { code: 'bad_input', message: /optimizer\.safetensors: "second\.model\.norm\.weight" holds a value that is not finite/ });
    (optimizer.secondMoments['model.norm.weight']!.data as Float32Array)[1] = 0;
    average.flat[7] = NaN;
    await save('average');
    await assert.rejects(readCheckpoint(path.join(folder, 'average'), smallConfig, null), { code: 'bad_input', message: /ema\.safetensors: "model\.embed_tokens\.weight" holds a value/ });
  });

  it('is a Hugging Face folder with the tokenizer and the fields of the source', async () => {
    const target = path.join(folder, 'c');
    const weights = smallWeights();
    await writeCheckpoint(target, source, wholeModel(weights), null);
    assert.deepEqual(readdirSync(target).sort(), ['chat_template.jinja', 'config.json', 'generation_config.json', 'model.safetensors', 'tokenizer.json']);
    assert.deepEqual((await loadModel(target)).weights, weights);
    const config = JSON.parse(readFileSync(path.join(target, 'config.json'), 'utf8'));
    assert.equal(config.my_own_field, 'kept');
    await assert.rejects(readCheckpoint(target, smallConfig, null), /holds no state to resume from/);
  });

  it('never replaces a folder and leaves no half of one', async () => {
    await assert.rejects(writeCheckpoint(source, source, wholeModel(smallWeights()), null), { code: 'conflict' });
    rmSync(path.join(source, 'config.json'));
    writeFileSync(path.join(source, 'config.json'), '{broken');
    const target = path.join(folder, 'c');
    await assert.rejects(writeCheckpoint(target, source, wholeModel(smallWeights()), null), /not valid JSON/);
    assert.ok(!existsSync(target));
    assert.deepEqual(readdirSync(folder), ['source']);
  });

  it('of another model is refused', async () => {
    const learner = new Learner(smallConfig, wholeModel(smallWeights()), engine);
    await train(learner, 1);
    const target = path.join(folder, 'c');
    await writeCheckpoint(target, source, wholeModel(learner.weights), { version: 1, optimizer: learner.optimizerState, average: null });
    await learner.release();
    await assert.rejects(readCheckpoint(target, { ...smallConfig, intermediate: 8 }, null), /shape/);
    writeFileSync(path.join(target, 'trainer_state.json'), '{"version": "x"}');
    await assert.rejects(readCheckpoint(target, smallConfig, null), /trainer_state.json: /);
  });
});

async function writeSource(folder: string): Promise<void> {
  mkdirSync(folder);
  await saveModel(folder, { config: smallConfig, weights: smallWeights() });
  const file = path.join(folder, 'config.json');
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), my_own_field: 'kept' }));
  writeFileSync(path.join(folder, 'tokenizer.json'), '{}');
  writeFileSync(path.join(folder, 'chat_template.jinja'), '');
}
