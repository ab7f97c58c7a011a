import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { saveModel } from '../../../trainer/models/model-folder.ts';
import { AllLogits } from '../../fixtures/all-logits.ts';
import { tinyFamilies } from '../../fixtures/tiny-families.ts';
import { findTransformers, transformersLogits } from '../../fixtures/transformers.ts';
import { randomTokens, smallWeights } from '../../unit/models/small-model.ts';

const prompts = Array.from({ length: 100 }, (_, seed) => randomTokens(1 + (seed * 7) % 48, seed, 320));

describe('parity with transformers', () => {
  let folder: string;
  before(() => { folder = mkdtempSync(path.join(tmpdir(), 'transformers-')); });
  after(() => rmSync(folder, { recursive: true }));

  it(`every family: logits within 1e-3 over ${prompts.length} random prompts`, async function () {
    const found = await findTransformers();
    if ('missing' in found) {
      process.stdout.write(`      ${found.missing}\n`);
      return this.skip();
    }
    const [qwen2, qwen3] = [tinyFamilies['Qwen2.5']!.config, tinyFamilies['Qwen3']!.config];
    const models = [
      ...Object.entries(tinyFamilies).map(([name, { config }]) => ({ name, config })),
      // Features that llama.cpp lacks.
      { name: 'Qwen2, sliding window', config: { ...qwen2, sliding: { size: 9, layers: [false, true, true], rope: qwen2.rope } } },
      { name: 'Qwen3, all biases', config: { ...qwen3, attentionBias: 'qkvo' as const } },
    ].map((model, i) => ({ ...model, folder: path.join(folder, String(i)), weights: smallWeights(model.config, 1, 0.1) }));
    for (const model of models) {
      mkdirSync(model.folder);
      await saveModel(model.folder, model);
    }
    const expected = await transformersLogits(found.python, models.map((model) => model.folder), prompts);
    for (const [i, { name, config, weights }] of models.entries()) {
      const most = await new AllLogits(config, weights).largestDifference(prompts, expected[i]!);
      process.stdout.write(`      ${name}: max |Δlogit| ${most.toExponential(1)}\n`);
      assert.ok(most <= 1e-3, `${name}: max |Δlogit| is ${most}`);
    }
  });
});
