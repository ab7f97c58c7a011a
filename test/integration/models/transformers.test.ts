import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { saveModel } from '../../../trainer/models/model-folder.ts';
import { AllLogits } from '../../fixtures/all-logits.ts';
import { tinyFamilies } from '../../fixtures/tiny-families.ts';
import { randomTokens, smallWeights } from '../../unit/models/small-model.ts';

const prompts = Array.from({ length: 100 }, (_, seed) => randomTokens(1 + (seed * 7) % 48, seed, 320));

describe('parity with transformers', () => {
  let folder: string;
  before(() => { folder = mkdtempSync(path.join(tmpdir(), 'transformers-')); });
  after(() => rmSync(folder, { recursive: true }));

  it(`every family: logits within 1e-3 over ${prompts.length} random prompts`, async function () {
    const { findTransformers } = await import(path.join(import.meta.dirname, '..', '..', '..', 'scripts', 'transformers.mjs')) as { findTransformers: () => { python: string } | { missing: string } };
    const found = findTransformers();
    if ('missing' in found) {
      process.stdout.write(`      ${found.missing}\n`);
      return this.skip();
    }
    const { 'Qwen2.5': qwen2 } = tinyFamilies;
    const sliding = { size: 9, layers: [false, true, true], rope: qwen2!.config.rope }; // a feature that llama.cpp lacks
    const models = [
      ...Object.entries(tinyFamilies).map(([name, { config }]) => ({ name, config })),
      { name: 'Qwen2, sliding window', config: { ...qwen2!.config, sliding } },
      { name: 'Qwen3, all biases', config: { ...tinyFamilies['Qwen3']!.config, attentionBias: 'qkvo' as const } },
    ].map((model, i) => ({ ...model, folder: path.join(folder, String(i)), weights: smallWeights(model.config, 1, 0.1) }));
    for (const model of models) {
      mkdirSync(model.folder);
      await saveModel(model.folder, model);
    }
    await runPython(found.python, { models: models.map((model) => model.folder), prompts });
    for (const { name, config, weights, folder: at } of models) {
      const bytes = readFileSync(path.join(at, 'logits.f32'));
      const theirs = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
      const ours = new AllLogits(config, weights);
      let [most, row] = [0, 0];
      for (const prompt of prompts) {
        for (const logits of await ours.logits(prompt)) {
          const expected = theirs.subarray(row * config.vocab, ++row * config.vocab);
          logits.forEach((value, token) => { most = Math.max(most, Math.abs(value - expected[token]!)); });
        }
      }
      assert.equal(row * config.vocab, theirs.length);
      process.stdout.write(`      ${name}: max |Δlogit| ${most.toExponential(1)}\n`);
      assert.ok(most <= 1e-3, `${name}: max |Δlogit| is ${most}`);
    }
  });
});

function runPython(python: string, job: object): Promise<void> {
  return new Promise((resolve, reject) => {
    const script = path.join(import.meta.dirname, '..', '..', 'fixtures', 'transformers-logits.py');
    const child = spawn(python, [script], { stdio: ['pipe', 'ignore', 'pipe'], env: { ...process.env, HF_HUB_OFFLINE: '1' } });
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => { errors += text; });
    child.on('error', reject).on('close', (code) => (code === 0 ? resolve() : reject(new Error(errors.slice(-2000)))));
    child.stdin.end(JSON.stringify(job));
  });
}
