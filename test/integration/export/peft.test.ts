import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { exportModel } from '../../../trainer/export/export-model.ts';
import type { LoraSettings } from '../../../trainer/models/lora.ts';
import { loadModel, saveModel } from '../../../trainer/models/model-folder.ts';
import { writeCheckpoint } from '../../../trainer/policy/checkpoint.ts';
import { loraTargets } from '../../../trainer/protocol/lora-config.ts';
import { AllLogits } from '../../fixtures/all-logits.ts';
import { randomFactors } from '../../fixtures/lora.ts';
import { tinyFamilies } from '../../fixtures/tiny-families.ts';
import { findTransformers, peftLogits } from '../../fixtures/transformers.ts';
import { randomTokens, smallWeights } from '../../unit/models/small-model.ts';

const prompts = Array.from({ length: 20 }, (_, seed) => randomTokens(1 + (seed * 7) % 48, seed, 320));
const cases: Record<string, LoraSettings> = {
  'Qwen2.5': { rank: 4, alpha: 8, targets: ['q_proj', 'v_proj'], rslora: false },
  'Llama 3': { rank: 3, alpha: 16, targets: loraTargets, rslora: true },
  'Gemma 3': { rank: 8, alpha: 16, targets: loraTargets, rslora: false },
};

describe('export of a LoRA adapter for PEFT', () => {
  let folder: string;
  const at = (name: string) => path.join(folder, name.replaceAll(' ', '-'));
  before(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'export-peft-'));
    for (const [name, lora] of Object.entries(cases)) {
      const { config, tokenizer } = tinyFamilies[name]!;
      const base = smallWeights(config, 1, 0.1);
      mkdirSync(at(`base ${name}`));
      await saveModel(at(`base ${name}`), { config, weights: base });
      writeFileSync(path.join(at(`base ${name}`), 'tokenizer.json'), JSON.stringify(tokenizer.tokenizer));
      const weights = { trainable: randomFactors(config, lora), frozen: { base: { type: 'float32' as const, tensors: base.tensors }, lora } };
      await writeCheckpoint(at(`trained ${name}`), at(`base ${name}`), weights, null);
      await writeCheckpoint(at(`checkpoint ${name}`), at(`base ${name}`), weights, { version: 1, optimizer: null, average: null });
      await exportModel({ source: at(`trained ${name}`), format: 'peft', type: null, out: at(`adapter ${name}`) });
    }
  });
  after(() => rmSync(folder, { recursive: true }));

  it('a folder in PEFT\'s layout, the same from a trained model and from a checkpoint', async () => {
    const [out, fromCheckpoint] = [at('adapter Llama 3'), at('again')];
    assert.deepEqual(readdirSync(out).sort(), ['adapter_config.json', 'adapter_model.safetensors']);
    const { r, lora_alpha, use_rslora, target_modules, peft_type, task_type, base_model_name_or_path } = JSON.parse(readFileSync(path.join(out, 'adapter_config.json'), 'utf8')) as Record<string, unknown>;
    assert.deepEqual({ r, lora_alpha, use_rslora, target_modules, peft_type, task_type, base_model_name_or_path },
      { r: 3, lora_alpha: 16, use_rslora: true, target_modules: [...loraTargets], peft_type: 'LORA', task_type: 'CAUSAL_LM', base_model_name_or_path: at('base Llama 3') });
    await exportModel({ source: at('checkpoint Llama 3'), format: 'peft', type: null, out: fromCheckpoint });
    for (const name of readdirSync(out)) assert.deepEqual(readFileSync(path.join(fromCheckpoint, name)), readFileSync(path.join(out, name)), name);
  });

  it('a model of the hub is named as there, not by its place in the cache', async () => {
    const place = path.join(folder, 'hub', 'models--owner--name', 'snapshots', 'c0ffee', '');
    const source = at('from hub');
    mkdirSync(path.join(source, 'adapter'), { recursive: true });
    for (const name of ['config.json', 'tokenizer.json']) writeFileSync(path.join(source, name), readFileSync(path.join(at('trained Qwen2.5'), name)));
    const adapter = path.join(at('trained Qwen2.5'), 'adapter');
    for (const name of readdirSync(adapter)) writeFileSync(path.join(source, 'adapter', name), readFileSync(path.join(adapter, name)));
    const configFile = path.join(source, 'adapter', 'adapter_config.json');
    writeFileSync(configFile, readFileSync(configFile, 'utf8').replace(JSON.stringify(at('base Qwen2.5')), JSON.stringify(place)));
    await exportModel({ source, format: 'peft', type: null, out: at('named') });
    assert.equal((JSON.parse(readFileSync(path.join(at('named'), 'adapter_config.json'), 'utf8')) as Record<string, unknown>)['base_model_name_or_path'], 'owner/name');
  });

  it('a model without one is refused; as a Hugging Face folder a checkpoint is the whole model', async () => {
    await assert.rejects(exportModel({ source: at('base Gemma 3'), format: 'peft', type: null, out: at('none') }), /has no LoRA adapter: it was not trained with lora_rank/);
    await exportModel({ source: at('checkpoint Gemma 3'), format: 'hf', type: null, out: at('whole') });
    assert.deepEqual((await loadModel(at('whole'))).weights, (await loadModel(at('trained Gemma 3'))).weights);
  });

  it('PEFT on top of transformers computes our logits with the factors on', async function () {
    const found = await findTransformers();
    if ('missing' in found) {
      process.stdout.write(`      ${found.missing}\n`);
      return this.skip();
    }
    const theirs = await peftLogits(found.python, Object.keys(cases).map((name) => at(`adapter ${name}`)), prompts);
    for (const [i, name] of Object.keys(cases).entries()) {
      const { config } = tinyFamilies[name]!;
      const trained = new AllLogits(config, (await loadModel(at(`trained ${name}`))).weights);
      const most = await trained.largestDifference(prompts, theirs[i]!);
      const without = await new AllLogits(config, (await loadModel(at(`base ${name}`))).weights).largestDifference(prompts, theirs[i]!);
      process.stdout.write(`      ${name}: max |Δlogit| ${most.toExponential(1)} (${without.toExponential(1)} without the factors)\n`);
      assert.ok(most <= 1e-4, `${name}: max |Δlogit| is ${most}`);
      assert.ok(without > 0.1, `${name}: the factors matter`);
    }
  });
});
