import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { wrap } from '../../../trainer/engine/tensor.ts';
import { exportHuggingFace } from '../../../trainer/export/hugging-face.ts';
import { configJson } from '../../../trainer/models/config-json.ts';
import { decoderConfig } from '../../../trainer/models/decoder-config.ts';
import { readConfig } from '../../../trainer/models/config.ts';
import { parseConfig } from '../../../trainer/models/huggingface-config.ts';
import { frozenParts } from '../../../trainer/models/frozen-base.ts';
import { readGguf } from '../../../trainer/models/gguf/read.ts';
import { bfloat16ToFloat32, float16ToFloat32, float32ToFloat16 } from '../../../trainer/models/half.ts';
import { loadModel, saveModel } from '../../../trainer/models/model-folder.ts';
import { readSafetensors, writeSafetensors } from '../../../trainer/models/safetensors.ts';
import { initialParameters, loadParameters } from '../../../trainer/models/weights.ts';
import { writeWhole } from '../../../trainer/models/write-whole.ts';
import { smallConfig, smallWeights } from './small-model.ts';

describe('model files', () => {
  let folder: string;
  beforeEach(() => { folder = mkdtempSync(path.join(tmpdir(), 'models-')); });
  afterEach(() => rmSync(folder, { recursive: true }));
  const at = (name: string) => path.join(folder, name);
  const refuses = (action: () => Promise<unknown>, message: RegExp) => assert.rejects(action, (error: Error & { code?: string }) => {
    assert.match(error.message, message);
    return error.name === 'TrainerError';
  });

  describe('config.json', () => {
    it('comes back as it was written', () => {
      const rope = { theta: 10_000, scaling: null };
      const wide = { ...smallConfig, headDim: 8 };
      const configs = [
        smallConfig,
        decoderConfig('qwen2', wide, { tied: false, eosIds: [2, 5], sliding: { size: 7, layers: [false, true], rope } }),
        decoderConfig('llama', wide, { attentionBias: 'qkvo', rope: { theta: 5e5, scaling: { type: 'llama3', factor: 8, lowFreqFactor: 1, highFreqFactor: 4, originalContext: 32 } } }),
        decoderConfig('llama', wide, { rope: { theta: 1e4, scaling: { type: 'linear', factor: 4 } } }),
        decoderConfig('qwen3', wide, { rope: { theta: 1e6, scaling: { type: 'yarn', factor: 4, originalContext: 32, betaFast: 16, betaSlow: 2, attentionFactor: 1.1 } } }),
        decoderConfig('gemma2', wide, { sliding: { size: 7, layers: [true, false], rope }, attentionScale: 1 / Math.sqrt(144), attentionSoftcap: 50, logitSoftcap: 30 }),
        decoderConfig('gemma3_text', wide, { sliding: { size: 7, layers: [true, false], rope: { theta: 20, scaling: null } }, rope: { theta: 1e6, scaling: { type: 'linear', factor: 8 } } }),
      ];
      for (const config of configs) assert.deepEqual(parseConfig(configJson(config), 'c'), config);
    });

    it('is that of a real Qwen2.5 model', () => {
      const config = parseConfig({
        architectures: ['Qwen2ForCausalLM'], attention_dropout: 0, bos_token_id: 151643, eos_token_id: 151645, hidden_act: 'silu', hidden_size: 896, initializer_range: 0.02,
        intermediate_size: 4864, max_position_embeddings: 32768, max_window_layers: 21, model_type: 'qwen2', num_attention_heads: 14, num_hidden_layers: 24, num_key_value_heads: 2,
        rms_norm_eps: 1e-6, rope_theta: 1e6, sliding_window: 32768, tie_word_embeddings: true, torch_dtype: 'bfloat16', use_cache: true, use_sliding_window: false, vocab_size: 151936,
      }, 'c');
      assert.equal(config.headDim, 64);
      assert.deepEqual(config.rope, { theta: 1e6, scaling: null });
      assert.deepEqual(config.eosIds, [151645]);
    });

    it('is that of a real Gemma 3 model, before and since transformers 5', () => {
      const old = {
        architectures: ['Gemma3ForCausalLM'], attention_bias: false, attn_logit_softcapping: null, bos_token_id: 2, eos_token_id: 1, final_logit_softcapping: null, head_dim: 256, hidden_activation: 'gelu_pytorch_tanh',
        hidden_size: 640, intermediate_size: 2048, max_position_embeddings: 32768, model_type: 'gemma3_text', num_attention_heads: 4, num_hidden_layers: 7, num_key_value_heads: 1,
        query_pre_attn_scalar: 256, rms_norm_eps: 1e-6, rope_local_base_freq: 10000, rope_scaling: null, rope_theta: 1e6, sliding_window: 512, vocab_size: 262144,
      };
      const config = parseConfig(old, 'c');
      const [far, near] = [{ theta: 1e6, scaling: null }, { theta: 1e4, scaling: null }];
      assert.deepEqual([config.sliding, config.rope], [{ size: 512, layers: [true, true, true, true, true, false, true], rope: near }, far]);
      assert.ok(config.tied && config.attentionScale === 1 / 16);
      const parameters = { full_attention: { rope_type: 'default', rope_theta: 1e6 }, sliding_attention: { rope_type: 'default', rope_theta: 1e4 } };
      assert.deepEqual(parseConfig({ ...old, rope_theta: undefined, rope_local_base_freq: undefined, rope_parameters: parameters, layer_types: config.sliding!.layers.map((local) => (local ? 'sliding_attention' : 'full_attention')) }, 'c'), config);
    });

    it('is refused with what is missing, by name', () => {
      const json = configJson(decoderConfig('llama', smallConfig));
      const bad = (changes: object, message: RegExp) => assert.throws(() => parseConfig({ ...json, ...changes }, 'c'), message);
      bad({ model_type: 'mixtral', num_local_experts: 8 }, /mixtral: mixture of experts is not supported. Use a text model of one of these types: llama, qwen2/);
      bad({ model_type: 't5', is_encoder_decoder: true }, /t5: encoder-decoder models/);
      bad({ model_type: 'gemma3', text_config: {} }, /gemma3: models that read images or sound/);
      bad({ quantization_config: { quant_method: 'gptq' } }, /llama: the weights are quantised \(gptq\)/);
      bad({ mlp_bias: true }, /llama: biases in the feed-forward/);
      bad({ hidden_act: 'gelu' }, /the activation "gelu"/);
      bad({ layer_types: ['full_attention', 'linear_attention'] }, /layers of type "linear_attention"/);
      bad({ rope_scaling: { rope_type: 'longrope', factor: 2 } }, /scaled by "longrope"/);
    });

    it('is refused with the reason', () => {
      const json = configJson(smallConfig);
      const bad = (changes: object, message: RegExp) => assert.throws(() => parseConfig({ ...json, ...changes }, 'my/config.json'), message);
      bad({ model_type: 'mamba' }, /my\/config.json: the model type "mamba" is not supported/);
      bad({ hidden_size: 'big' }, /hidden_size/);
      bad({ vocab_size: 1e12 }, /^TrainerError: my\/config.json: vocab_size: Too big[^\n]*$/);
      bad({ num_hidden_layers: 1e9 }, /num_hidden_layers: Too big/);
      bad({ rope_scaling: { type: 'dynamic', factor: 2 } }, /scaled by "dynamic" \(rope_scaling\) are not supported/);
      bad({ rope_scaling: { type: 'yarn' } }, /rope_scaling of type "yarn" has no "factor"/);
      bad({ num_key_value_heads: 3 }, /multiple of num_key_value_heads \(3\)/);
      assert.throws(() => parseConfig([], 'x'), /no "model_type"/);
    });

    it('joins the end-of-sequence ids of both files', async () => {
      writeFileSync(at('config.json'), JSON.stringify(configJson(smallConfig)));
      writeFileSync(at('generation_config.json'), JSON.stringify({ eos_token_id: [7, 2] }));
      assert.deepEqual((await readConfig(folder)).eosIds, [2, 7]);
      writeFileSync(at('config.json'), '{');
      await refuses(() => readConfig(folder), /config.json is not valid JSON \(line 1, column 2\)/);
    });

    it('missing is said so', () => refuses(() => readConfig(folder), /There is no .*config.json/));
  });

  describe('safetensors', () => {
    const tensors = new Map([['a', { shape: [2, 2], data: Float32Array.of(1, -2.5, 1e-30, 3e38) }], ['b.c', { shape: [1], data: Float32Array.of(0.1) }], ['empty', { shape: [0], data: new Float32Array(0) }]]);

    it('keeps float32 bit for bit', async () => {
      await writeSafetensors(at('m'), tensors);
      assert.deepEqual(await readSafetensors(at('m')), tensors);
    });

    it('writes float16 to half precision', async () => {
      await writeSafetensors(at('m'), new Map([['a', { shape: [3], data: Float32Array.of(0.1, -70000, 2 ** -24) }]]), 'F16');
      assert.deepEqual([...(await readSafetensors(at('m'))).get('a')!.data], [0.0999755859375, -Infinity, 2 ** -24]);
    });

    it('refuses damaged files by name', async () => {
      const header = (json: unknown, data = 8) => {
        const text = Buffer.from(typeof json === 'string' ? json : JSON.stringify(json));
        const length = Buffer.alloc(8);
        length.writeBigUInt64LE(BigInt(text.length));
        writeFileSync(at('m'), Buffer.concat([length, text, Buffer.alloc(data)]));
      };
      writeFileSync(at('m'), 'abc');
      await refuses(() => readSafetensors(at('m')), /only 3 bytes/);
      writeFileSync(at('m'), Buffer.alloc(20, 0xff));
      await refuses(() => readSafetensors(at('m')), /header of \d+ bytes does not fit/);
      header('not json');
      await refuses(() => readSafetensors(at('m')), /header is not JSON/);
      header({ w: { dtype: 'F32', shape: [3], data_offsets: [0, 8] } });
      await refuses(() => readSafetensors(at('m')), /"w" of shape \[3\] has 8 bytes instead of 12/);
      header({ w: { dtype: 'F32', shape: [4], data_offsets: [0, 16] } });
      await refuses(() => readSafetensors(at('m')), /"w" ends beyond the end/);
      header({ w: { dtype: 'I8', shape: [8], data_offsets: [0, 8] } });
      await refuses(() => readSafetensors(at('m')), /"w" has type I8/);
      header({ w: { dtype: 'F32', shape: [-1], data_offsets: [0, 8] } });
      await refuses(() => readSafetensors(at('m')), /"w.shape.0" in its header is wrong/);
      const two = (...places: [number, number][]) => header(Object.fromEntries(places.map((data_offsets, i) => [`w${i}`, { dtype: 'F32', shape: [2], data_offsets }])), 16);
      two([8, 16], [0, 8]);
      assert.deepEqual([...(await readSafetensors(at('m'))).keys()], ['w0', 'w1'], 'in any order');
      two([0, 8], [0, 8]);
      await refuses(() => readSafetensors(at('m')), /"w1" begins at byte 0 of the data, where the one before it ends at 8/);
      two([0, 8], [4, 12]);
      await refuses(() => readSafetensors(at('m')), /"w1" begins at byte 4/);
      two([8, 16]);
      await refuses(() => readSafetensors(at('m')), /"w0" begins at byte 8 of the data, where the one before it ends at 0/);
      two([0, 8]);
      await refuses(() => readSafetensors(at('m')), /it has \d+ bytes, but its tensors end at byte \d+/);
      await refuses(() => readSafetensors(at('none')), /cannot be opened: it does not exist/);
    });
  });

  it('are not waited for where a pipe stands in their place', async function () {
    if (process.platform === 'win32') this.skip(); // has no mkfifo
    for (const name of ['m.safetensors', 'm.gguf']) {
      execFileSync('mkfifo', [at(name)]);
      await refuses(() => (name.endsWith('.gguf') ? readGguf : readSafetensors)(at(name)), /is not a file/);
    }
  });

  it('are not written with infinities where 16 bits are too few', async () => {
    const weights = smallWeights();
    weights.tensors.get('model.embed_tokens.weight')!.data[5] = -7e4;
    await saveModel(folder, { config: smallConfig, weights });
    for (const name of ['tokenizer.json', 'tokenizer_config.json']) writeFileSync(at(name), '{}');
    await refuses(() => exportHuggingFace(folder, at('half'), 'f16'), /tensor "model.embed_tokens.weight" holds -70000, and float16 ends at 65504\. Use another type, float32/);
    await exportHuggingFace(folder, at('brain'), 'bf16');
    assert.ok((await loadModel(at('brain'))).weights.flat.every(Number.isFinite));
    assert.throws(() => frozenParts('model.layers.0.mlp.up_proj.weight', wrap('float32', [1, 1], Float32Array.of(7e4)), 'float16'), /base_dtype "float16": tensor "model.layers.0.mlp.up_proj.weight" holds 70000/);
    assert.ok(!existsSync(at('half')));
  });

  it('that cannot be written say so, and by which name', async () => {
    writeFileSync(at('file'), '');
    await refuses(() => writeWhole(at('file/in/it'), (temporary) => writeFile(temporary, 'a')), /file\/in\/it could not be written: a part of the path is a file\. Choose another place/);
    await refuses(() => writeWhole(at('x'.repeat(300)), (temporary) => writeFile(temporary, 'a')), /could not be written: the name is too long/);
    await writeWhole(at('new/folders/file'), (temporary) => writeFile(temporary, 'a'));
    assert.equal(readFileSync(at('new/folders/file'), 'utf8'), 'a');
  });

  it('converts 16-bit floats exactly', () => {
    const all = Uint16Array.from({ length: 65536 }, (_, i) => i).filter((h) => (h & 0x7c00) !== 0x7c00 || (h & 0x3ff) === 0);
    assert.deepEqual(float32ToFloat16(float16ToFloat32(all)), all);
    assert.deepEqual([...float16ToFloat32(Uint16Array.of(0x3c00, 0xc000, 0x7bff, 0x0001, 0x7c00))], [1, -2, 65504, 2 ** -24, Infinity]);
    assert.deepEqual([...float32ToFloat16(Float32Array.of(1 + 2 ** -11, 1 + 3 * 2 ** -11, 65519, 65520))], [0x3c00, 0x3c02, 0x7bff, 0x7c00]);
    assert.deepEqual([...bfloat16ToFloat32(Uint16Array.of(0x3f80, 0xc2c8))], [1, -100]);
  });

  describe('a model folder', () => {
    it('comes back bit for bit, its embeddings still tied', async () => {
      const weights = smallWeights();
      await saveModel(folder, { config: smallConfig, weights });
      const read = await loadModel(folder);
      assert.deepEqual(read, { config: smallConfig, weights });
      assert.ok(!(await readSafetensors(at('model.safetensors'))).has('lm_head.weight'));
    });

    it('is refused when a weight is not a number, or the weights are a folder', async () => {
      const weights = smallWeights();
      weights.tensors.get('model.norm.weight')!.data[3] = NaN;
      await saveModel(folder, { config: smallConfig, weights });
      await refuses(() => loadModel(folder), /"model.norm.weight" holds NaN at position 3/);
      rmSync(at('model.safetensors'));
      mkdirSync(at('model.safetensors'));
      await refuses(() => loadModel(folder), /model.safetensors is not a file/);
    });

    it('is refused when the weights are another model’s', async () => {
      await saveModel(folder, { config: smallConfig, weights: smallWeights() });
      await refuses(() => loadParameters(folder, { ...smallConfig, layers: 3 }), /no tensor "model.layers.2.input_layernorm.weight"/);
      await refuses(() => loadParameters(folder, { ...smallConfig, layers: 1 }), /is not part of a qwen2 model/);
      await refuses(() => loadParameters(folder, { ...smallConfig, vocab: 24 }), /"model.embed_tokens.weight" has shape \[23, 16\], but the configuration asks for \[24, 16\]/);
    });

    it('may be in shards', async () => {
      const weights = smallWeights();
      const entries = [...weights.tensors];
      await writeSafetensors(at('one.safetensors'), new Map(entries.slice(0, 5)));
      await writeSafetensors(at('two.safetensors'), new Map(entries.slice(5)));
      await refuses(() => loadParameters(folder, smallConfig), /no model.safetensors/);
      writeFileSync(at('model.safetensors.index.json'), JSON.stringify({ weight_map: Object.fromEntries(entries.map(([name], i) => [name, i < 5 ? 'one.safetensors' : 'two.safetensors'])) }));
      assert.deepEqual((await loadParameters(folder, smallConfig)).flat, weights.flat);
      writeFileSync(at('model.safetensors.index.json'), JSON.stringify({ weight_map: { a: '../../etc/passwd' } }));
      await refuses(() => loadParameters(folder, smallConfig), /index.json/);
    });
  });

  it('initial weights follow the seed', () => {
    const weights = initialParameters({ ...smallConfig, hidden: 64, heads: 16 }, 4);
    assert.deepEqual(weights, initialParameters({ ...smallConfig, hidden: 64, heads: 16 }, 4));
    assert.notDeepEqual(weights.flat, initialParameters({ ...smallConfig, hidden: 64, heads: 16 }, 5).flat);
    const { data } = weights.tensors.get('model.layers.0.self_attn.q_proj.weight')!;
    const deviation = Math.sqrt(data.reduce((sum, x) => sum + x * x, 0) / data.length);
    assert.ok(Math.abs(deviation - 0.02) < 0.001, String(deviation));
    assert.ok(weights.tensors.get('model.norm.weight')!.data.every((x) => x === 1));
    assert.ok(weights.tensors.get('model.layers.1.self_attn.k_proj.bias')!.data.every((x) => x === 0));
  });
});
