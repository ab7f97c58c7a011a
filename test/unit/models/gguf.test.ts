import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { readConfig } from '../../../trainer/models/config.ts';
import { decoderConfig, type DecoderConfig } from '../../../trainer/models/decoder-config.ts';
import { blockFormats, encodeBlocks } from '../../../trainer/models/gguf/blocks.ts';
import { readGguf } from '../../../trainer/models/gguf/read.ts';
import { saveGguf } from '../../../trainer/models/gguf/save.ts';
import { float32s, string, strings, uint32, writeGguf, type TypedValue } from '../../../trainer/models/gguf/write.ts';
import { loadModel } from '../../../trainer/models/model-folder.ts';
import { readTokenizerFiles } from '../../../trainer/models/tokenizer-files.ts';
import { openTokenizer } from '../../../trainer/models/tokenizer.ts';
import { wholeModel } from '../../../trainer/models/policy-weights.ts';
import { writeCheckpoint } from '../../../trainer/policy/checkpoint.ts';
import { tinyFamilies } from '../../fixtures/tiny-families.ts';
import { smallWeights } from './small-model.ts';

const blocks = JSON.parse(readFileSync(path.join(import.meta.dirname, '..', '..', 'fixtures', 'gguf', 'blocks.json'), 'utf8')) as Record<string, { raw: string; values: string }>;
const bytes = (text: string) => Uint8Array.from(Buffer.from(text, 'base64'));
const floats = (text: string) => new Float32Array(bytes(text).buffer);

/** To six digits, which float32 keeps; ends of a sequence come from the tokenizer. */
const rounded = (config: DecoderConfig): unknown => JSON.parse(JSON.stringify({ ...config, eosIds: [] }, (_, value: unknown) => (typeof value === 'number' ? Number(value.toPrecision(6)) : value)));

describe('GGUF', () => {
  let folder: string;
  beforeEach(() => { folder = mkdtempSync(path.join(tmpdir(), 'gguf-')); });
  afterEach(() => rmSync(folder, { recursive: true }));
  const at = (name: string) => path.join(folder, name);
  const refuses = (action: () => Promise<unknown>, message: RegExp) => assert.rejects(action, (error: Error) => {
    assert.match(error.message, message);
    return error.name === 'TrainerError';
  });

  for (const [name, { raw, values }] of Object.entries(blocks).filter(([key]) => !key.startsWith('encode'))) {
    it(`dequantises ${name} as llama.cpp's authors do`, () => {
      const expected = floats(values);
      const out = new Float32Array(expected.length);
      blockFormats[name]!.decode(bytes(raw), out);
      assert.deepEqual(out.map((x) => x + 0), expected.map((x) => x + 0)); // −0 is 0
    });
  }

  for (const format of ['Q8_0', 'BF16'] as const) {
    it(`quantises to ${format} as llama.cpp's authors do`, () => {
      const { raw, values } = blocks[`encode ${format}`]!;
      assert.deepEqual(encodeBlocks(format, floats(values)), bytes(raw));
    });
  }

  it('keeps models of every family: bit for bit in float32, nearly in 8 bits', async () => {
    for (const [name, { config, tokenizer }] of Object.entries(tinyFamilies)) {
      const model = { name, config, weights: smallWeights(config, 1, 0.1), tokenizer };
      await saveGguf(at('a.gguf'), model, 'F32');
      const read = await loadModel(at('a.gguf'));
      assert.deepEqual(rounded(read.config), rounded(config), name);
      for (const [parameter, { data }] of read.weights.tensors) {
        const original = model.weights.tensors.get(parameter)!.data;
        // Gemma's norms are stored with 1 added, which costs their last bits.
        if (config.sliding && parameter.endsWith('norm.weight')) assert.ok(data.every((x, i) => Math.abs(x - original[i]!) < 1e-6), `${name} ${parameter}`);
        else assert.deepEqual(data, original, `${name} ${parameter}`);
      }
      await saveGguf(at('b.gguf'), model, 'Q8_0');
      const coarse = (await loadModel(at('b.gguf'))).weights.flat;
      assert.ok(coarse.every((x, i) => Math.abs(x - model.weights.flat[i]!) < 0.005), name);
      assert.ok(coarse.some((x, i) => x !== model.weights.flat[i]), name);
    }
  });

  it('keeps tokenizer and chat template, also in a checkpoint', async () => {
    for (const [name, { config, tokenizer }] of Object.entries(tinyFamilies)) {
      const weights = smallWeights(config, 1, 0.1);
      await saveGguf(at('m.gguf'), { name, config, weights, tokenizer }, 'F32');
      writeFileSync(at('tokenizer.json'), JSON.stringify(tokenizer.tokenizer));
      writeFileSync(at('tokenizer_config.json'), JSON.stringify(tokenizer.config));
      await writeCheckpoint(at(`checkpoint ${name}`), at('m.gguf'), wholeModel(weights), null);
      const [original, fromGguf, fromCheckpoint] = [await openTokenizer(folder), await openTokenizer(at('m.gguf')), await openTokenizer(at(`checkpoint ${name}`))];
      const { eosIds } = await readConfig(at('m.gguf'));
      assert.ok(eosIds.includes(original.eosId!));
      assert.deepEqual((await readConfig(at(`checkpoint ${name}`))).eosIds, eosIds);
      const chat = [{ role: 'user', content: 'the rain' }] as const;
      for (const copy of [fromGguf, fromCheckpoint]) {
        assert.equal(copy.renderChat([...chat], null), original.renderChat([...chat], null));
        assert.equal(copy.eosId, original.eosId);
        fc.assert(fc.property(fc.string({ unit: 'grapheme', maxLength: 30 }), (text) => {
          assert.deepEqual(copy.encode(text), original.encode(text));
          assert.equal(copy.decode(copy.encode(text)), original.decode(original.encode(text)));
        }), { numRuns: 30 });
      }
    }
  });

  it('decodes SentencePiece tokens byte by byte', async () => {
    const { config, tokenizer } = tinyFamilies['Gemma 3']!;
    await saveGguf(at('m.gguf'), { name: 'g', config, weights: smallWeights(config), tokenizer }, 'F32');
    const gemma = await openTokenizer(at('m.gguf'));
    const detokenizer = gemma.detokenizer();
    const text = 'the é🙂';
    assert.deepEqual(gemma.encode(text).map((id) => detokenizer.push(id)).filter((piece) => piece !== ''), ['t', 'he', ' ', 'é', '🙂']);
    assert.equal(Buffer.from(gemma.bytesOf(gemma.idOf('▁the')!)).toString(), ' the');
  });

  describe('refuses, by name,', () => {
    const tensor = { name: 'token_embd.weight', shape: [4, 32], format: 'F32', values: () => new Float32Array(128) } as const;
    const write = (metadata: Record<string, TypedValue>) => writeGguf(at('m.gguf'), new Map(Object.entries(metadata)), [tensor]);

    it('damaged files', async () => {
      await refuses(() => readGguf(at('none.gguf')), /none.gguf cannot be opened/);
      writeFileSync(at('m.gguf'), 'GGUF');
      await refuses(() => readGguf(at('m.gguf')), /m.gguf is not a usable GGUF file: it ends within its header/);
      writeFileSync(at('m.gguf'), Buffer.alloc(64, 1));
      await refuses(() => readGguf(at('m.gguf')), /does not begin with "GGUF"/);
      await write({ 'general.architecture': string('llama'), 'x': strings(['a', 'b']), 'y': float32s([1, 2]) });
      const whole = readFileSync(at('m.gguf'));
      assert.deepEqual([...(await readGguf(at('m.gguf'))).metadata], [['general.architecture', 'llama'], ['x', ['a', 'b']], ['y', [1, 2]]]);
      truncateSync(at('m.gguf'), whole.length - 64);
      await refuses(() => readGguf(at('m.gguf')), /tensor "token_embd.weight" ends at byte \d+ of \d+; the file is cut off/);
      // Any byte changed: read as something, or refused with a sentence.
      for (let i = 0; i < whole.length - 512; i++) {
        const changed = Buffer.from(whole);
        changed[i] = changed[i]! ^ 0xff;
        writeFileSync(at('m.gguf'), changed);
        await readGguf(at('m.gguf')).catch((error: Error) => assert.equal(error.name, 'TrainerError', error.stack));
      }
    });

    it('models that cannot be trained', async () => {
      const refused = async (metadata: Record<string, TypedValue>, message: RegExp) => {
        await write({ 'general.architecture': string('llama'), ...metadata });
        await refuses(() => readConfig(at('m.gguf')), message);
      };
      await refused({ 'general.architecture': string('qwen2moe'), 'qwen2moe.expert_count': uint32(8) }, /qwen2moe: mixture of experts is not supported/);
      await refused({ 'general.architecture': string('mamba') }, /the architecture "mamba" is not supported/);
      await refused({ 'split.count': uint32(3) }, /one of 3 parts/);
      await refused({}, /llama.embedding_length in its metadata is missing/);
      const sizes = { 'llama.embedding_length': uint32(32), 'llama.attention.head_count': uint32(2), 'llama.block_count': uint32(1), 'llama.context_length': uint32(64) };
      await refused({ ...sizes, 'llama.rope.scaling.type': string('longrope') }, /scaled by "longrope"/);
      await refused({ ...sizes, 'llama.rope.dimension_count': uint32(8) }, /a part of each head/);
      await refused({ ...sizes, 'llama.feed_forward_length': uint32(0) }, /intermediate = 0, which is no size/);
    });

    it('tokenizers that are not known', async () => {
      const tokens = { 'tokenizer.ggml.tokens': strings(['a']), 'tokenizer.ggml.merges': strings(['a a']) };
      await write({ ...tokens, 'tokenizer.ggml.model': string('rwkv') });
      await refuses(() => readTokenizerFiles(at('m.gguf')), /the tokenizer "rwkv" \(tokenizer.ggml.model\) is not supported/);
      await write({ ...tokens, 'tokenizer.ggml.model': string('gpt2'), 'tokenizer.ggml.pre': string('exotic') });
      await refuses(() => readTokenizerFiles(at('m.gguf')), /the pre-tokenizer "exotic" \(tokenizer.ggml.pre\) is not known; gpt-2, qwen2/);
    });

    it('what llama.cpp would compute otherwise', async () => {
      const { config, tokenizer } = tinyFamilies['Qwen2.5']!;
      const save = (changed: typeof config, files = tokenizer) => saveGguf(at('m.gguf'), { name: 'q', config: changed, weights: smallWeights(changed), tokenizer: files }, 'F32');
      await refuses(() => save(decoderConfig('qwen2', { ...config, headDim: 8 })), /its heads have 8 elements/);
      await refuses(() => save({ ...config, sliding: { size: 4, layers: [true, true, false], rope: config.rope } }), /no sliding windows in qwen2 models/);
      await refuses(() => save(config, { ...tokenizer, tokenizer: { ...tokenizer.tokenizer as object, pre_tokenizer: { type: 'Whitespace' } } }), /no tokenizer that cuts texts as this one does.*"pre_tokenizer" is \{"type":"Whitespace"\}.*gpt-2, qwen2, llama-bpe, smollm are known here/);
    });
  });
});
