import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { compile } from '../../../trainer/engine/executor.ts';
import { GraphBuilder } from '../../../trainer/engine/graph.ts';
import { wrap } from '../../../trainer/engine/tensor.ts';
import { adapterBase, readAdapter, writeAdapter } from '../../../trainer/models/adapter-folder.ts';
import { decoderConfig, families, type DecoderConfig } from '../../../trainer/models/decoder-config.ts';
import { addFactors, factorShapes, initialFactors, loraScale, steadyLowRank, type LoraSettings } from '../../../trainer/models/lora.ts';
import { weightFeeds, type PolicyWeights } from '../../../trainer/models/policy-weights.ts';
import { readSafetensors } from '../../../trainer/models/safetensors.ts';
import { trainingGraph } from '../../../trainer/models/training-graph.ts';
import type { ParameterBlock } from '../../../trainer/models/weights.ts';
import { loraTargets, targetsOf } from '../../../trainer/protocol/lora-config.ts';
import { microBatches } from '../../../trainer/policy/micro-batches.ts';
import { placeFeeds } from '../../../trainer/policy/pass.ts';
import { frozenBase, randomFactors } from '../../fixtures/lora.ts';
import { referenceLogprobs } from './reference.ts';
import { engine, randomTokens, smallConfig, smallWeights } from './small-model.ts';

const lora: LoraSettings = { rank: 3, alpha: 16, targets: loraTargets, rslora: false };

describe('LoRA', () => {
  it('scales by alpha / rank, or with rsLoRA by alpha / √rank', () => {
    assert.equal(loraScale({ ...lora, rank: 8 }), 2);
    assert.equal(loraScale({ ...lora, rank: 8, rslora: true }).toFixed(3), '5.657');
  });

  it('gives every named layer its two factors, in every family, and refuses a name by listing those there are', () => {
    for (const family of families) {
      const config = decoderConfig(family, smallConfig);
      assert.equal(factorShapes(config, lora).size, 2 * 7 * config.layers);
      for (const target of loraTargets) assert.equal(factorShapes(config, { ...lora, targets: [target] }).size, 2 * config.layers, target);
    }
    assert.deepEqual(factorShapes(smallConfig, { ...lora, targets: ['k_proj'] }).get('model.layers.1.self_attn.k_proj.lora_A.weight'), [3, 16]);
    assert.deepEqual(factorShapes(smallConfig, { ...lora, targets: ['k_proj'] }).get('model.layers.1.self_attn.k_proj.lora_B.weight'), [8, 3]);
    assert.deepEqual(targetsOf('all-linear'), [...loraTargets]);
    assert.deepEqual(targetsOf(['v_proj', 'q_proj']), ['q_proj', 'v_proj']);
    assert.throws(() => targetsOf(['q_proj', 'c_attn']), { code: 'bad_input', message: /"c_attn".*q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj/ });
    assert.throws(() => targetsOf([]), { code: 'bad_input' });
  });

  it('draws A within ±1/√in from a seed, B zero', () => {
    const factors = initialFactors(smallConfig, lora, 5);
    assert.deepEqual(factors, initialFactors(smallConfig, lora, 5));
    assert.notDeepEqual(factors, initialFactors(smallConfig, lora, 6));
    for (const [name, { data, shape }] of factors.tensors) {
      const most = data.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
      if (name.endsWith('lora_B.weight')) assert.equal(most, 0);
      else assert.ok(most <= 1 / Math.sqrt(shape[1]!) && most > 0.8 / Math.sqrt(shape[1]!), name);
    }
  });

  it('is the model itself at first, bit for bit, and then the model with its factors added', async () => {
    for (const family of families) for (const rslora of [false, true]) {
      const config = decoderConfig(family, smallConfig);
      const base = smallWeights(config);
      const settings = { ...lora, rslora };
      const tokens = randomTokens(17, 3);
      const fresh = { trainable: initialFactors(config, settings, 1), frozen: { base: frozenBase(base), lora: settings } };
      assert.deepEqual((await run(config, fresh, tokens, false))['logprob'], (await run(config, { trainable: base, frozen: null }, tokens, false))['logprob']);
      const trained = { ...fresh, trainable: randomFactors(config, settings) };
      const merged = added(config, base, settings, trained.trainable);
      const [a, b] = [(await run(config, trained, tokens, false))['logprob']!, referenceLogprobs(config, merged, tokens).slice(1)];
      a.forEach((logprob, t) => near(logprob, b[t]!, 1e-5, family));
    }
  });

  it('is sampled with the same bits for a row in any number of rows', async () => {
    for (const [input, rank, out] of [[256, 16, 352], [1024, 64, 640], [640, 136, 96]] as const) {
      const [down, up, x] = [smallNoise(rank * input, 5), smallNoise(out * rank, 6), smallNoise(input * 256, 7)];
      let alone: Float32Array | undefined;
      for (const rows of [1, 2, 4, 64, 256]) {
        const b = new GraphBuilder();
        b.output('y', steadyLowRank(b, b.input('x', 'float32', [rows, input]), b.input('down', 'float32', [rank, input]), b.input('up', 'float32', [out, rank]), 2));
        const session = await compile(b, engine);
        const { y } = await session.run({ x: wrap('float32', [rows, input], x.subarray(0, rows * input)), down: wrap('float32', [rank, input], down), up: wrap('float32', [out, rank], up) });
        await session.release();
        const first = (y!.data as Float32Array).slice(0, out);
        assert.deepEqual(first, alone ??= first, `rank ${rank}, ${rows} rows`);
      }
    }
  });

  it('has gradients that finite differences confirm, for every factor and nothing else', async () => {
    const settings: LoraSettings = { ...lora, alpha: 6, rslora: true, targets: ['q_proj', 'o_proj', 'gate_proj', 'down_proj'] };
    const base = smallWeights();
    const trainable = randomFactors(smallConfig, settings);
    const tokens = randomTokens(9, 7);
    const result = await run(smallConfig, { trainable, frozen: { base: frozenBase(base), lora: settings } }, tokens, true);
    assert.deepEqual(Object.keys(result).filter((name) => name.startsWith('grad ')).sort(), [...trainable.tensors.keys()].map((name) => `grad ${name}`).sort());
    const loss = () => -referenceLogprobs(smallConfig, added(smallConfig, base, settings, trainable), tokens).slice(1).reduce((sum, x) => sum + x, 0);
    for (const [name, { data }] of trainable.tensors) {
      for (const i of [0, data.length - 1]) {
        const kept = data[i]!;
        data[i] = kept + 2 ** -7;
        const up = loss();
        data[i] = kept - 2 ** -7;
        const slope = (up - loss()) / 2 ** -6;
        data[i] = kept;
        near(result[`grad ${name}`]![i]!, slope, 2e-3 + 5e-3 * Math.abs(slope), name);
      }
    }
  });
});

describe('adapter folders', () => {
  let folder: string;
  beforeEach(() => { folder = mkdtempSync(path.join(tmpdir(), 'adapter-')); });
  afterEach(() => rmSync(folder, { recursive: true }));
  const settings: LoraSettings = { rank: 2, alpha: 5, targets: ['q_proj', 'down_proj'], rslora: true };
  const config = 'adapter_config.json';
  const change = (fields: object) => writeFileSync(path.join(folder, config), JSON.stringify({ ...JSON.parse(readFileSync(path.join(folder, config), 'utf8')), ...fields }));

  it('of a rank that no matrix of the model has are refused before memory is taken for them', async () => {
    await writeAdapter(folder, { settings, factors: randomFactors(smallConfig, settings) }, '/models/base');
    for (const r of [17, 1e12]) {
      change({ r });
      await assert.rejects(readAdapter(folder, smallConfig), { code: 'bad_input', message: new RegExp(`adapter_config\\.json: r is ${r}, but no matrix of the model has a rank above 16`) });
      assert.throws(() => initialFactors(smallConfig, { ...settings, rank: r }, 1), { code: 'bad_input', message: new RegExp(`^model\\.lora_rank is ${r}, but`) });
    }
    assert.equal(initialFactors(smallConfig, { ...settings, rank: 16 }, 1).tensors.size, 8);
  });

  it('are read back as they were written, with the names of PEFT', async () => {
    const adapter = { settings, factors: randomFactors(smallConfig, settings) };
    await writeAdapter(folder, adapter, '/models/base');
    assert.deepEqual(await readAdapter(folder, smallConfig), adapter);
    assert.equal(await adapterBase(folder), '/models/base');
    assert.ok((await readSafetensors(path.join(folder, 'adapter_model.safetensors'))).has('base_model.model.model.layers.1.mlp.down_proj.lora_B.weight'));
  });

  it('of another model, or with what is not supported, are refused by name', async () => {
    await writeAdapter(folder, { settings, factors: randomFactors(smallConfig, settings) }, 'base');
    await assert.rejects(readAdapter(folder, { ...smallConfig, hidden: 20 }), { code: 'bad_input', message: /q_proj.lora_A.weight" has shape \[2, 16\], but the model asks for \[2, 20\]/ });
    await assert.rejects(readAdapter(folder, { ...smallConfig, layers: 1 }), { code: 'bad_input', message: /layers\.1\..* belongs to no layer/ });
    change({ target_modules: ['q_proj', 'v_proj', 'down_proj'] });
    await assert.rejects(readAdapter(folder, smallConfig), { code: 'bad_input', message: /v_proj.lora_A.weight" is missing/ });
    for (const [field, value] of Object.entries({ use_dora: true, bias: 'all', modules_to_save: ['lm_head'], rank_pattern: { q_proj: 4 }, peft_type: 'IA3', target_modules: '.*_proj' })) {
      await writeAdapter(folder, { settings, factors: randomFactors(smallConfig, settings) }, 'base');
      change({ [field]: value });
      await assert.rejects(readAdapter(folder, smallConfig), { code: 'bad_input', message: new RegExp(field) }, field);
    }
    change({ target_modules: ['c_attn'] });
    await assert.rejects(readAdapter(folder, smallConfig), { code: 'bad_input', message: /adapter_config.json: target_modules names "c_attn", which the model does not have/ });
    change({ base_model_name_or_path: null });
    await assert.rejects(adapterBase(folder), { code: 'bad_input', message: /base_model_name_or_path names no model/ });
  });
});

/** Log-probabilities of a row, and with `backward` the gradients of their negative sum. */
async function run(config: DecoderConfig, weights: PolicyWeights, tokens: number[], backward: boolean): Promise<Record<string, Float32Array>> {
  const [batch] = microBatches([{ tokens, mask: tokens.map((_, i) => (i > 0 ? 1 : 0)), temperature: 1 }], 64, config);
  const { shape, origins } = batch!;
  const session = await compile(trainingGraph(config, shape, { kind: backward ? 'supervised' : 'logprobs' }, weights.frozen), engine);
  const result = await session.run({
    ...weightFeeds(weights),
    tokens: wrap('int32', [shape.batch, shape.length], batch!.tokens),
    position: wrap('int32', [shape.trained], batch!.position), ...placeFeeds(batch!),
    target: wrap('int32', [shape.trained], batch!.target),
    inv_temperature: wrap('float32', [shape.trained], batch!.inverseTemperature),
    ...(backward ? { weight: wrap('float32', [shape.trained], Float32Array.from({ length: shape.trained }, (_, i) => (i < origins.length ? 1 : 0))) } : {}),
  });
  await session.release();
  return Object.fromEntries(Object.entries(result).map(([name, { data }]) => [name, name === 'logprob' ? (data as Float32Array).slice(0, origins.length) : data as Float32Array]));
}

function smallNoise(length: number, seed: number): Float32Array {
  let state = seed;
  return Float32Array.from({ length }, () => (state = (state * 48271 + 11) % 2147483647) / 2147483647 - 0.5);
}

function added(config: DecoderConfig, base: ParameterBlock, settings: LoraSettings, factors: ParameterBlock): ParameterBlock {
  const merged = smallWeights(config);
  merged.flat.set(base.flat);
  for (const [name, tensor] of merged.tensors) addFactors(name, tensor, { settings, factors });
  return merged;
}

function near(actual: number, expected: number, tolerance: number, what = ''): void {
  assert.ok(Math.abs(actual - expected) <= tolerance, `${what} ${actual} is not within ${tolerance} of ${expected}`);
}
