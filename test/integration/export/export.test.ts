import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { exportModel } from '../../../trainer/export/export-model.ts';
import { loadModel, saveModel } from '../../../trainer/models/model-folder.ts';
import { readTokenizerFiles } from '../../../trainer/models/tokenizer-files.ts';
import { openTokenizer } from '../../../trainer/models/tokenizer.ts';
import { AllLogits } from '../../fixtures/all-logits.ts';
import { LlamaCpp } from '../../fixtures/llama-cpp.ts';
import { tinyFamilies } from '../../fixtures/tiny-families.ts';
import { findTransformers, transformersLogits } from '../../fixtures/transformers.ts';
import { randomTokens, smallWeights } from '../../unit/models/small-model.ts';

const { config, tokenizer } = tinyFamilies['Qwen3']!;
const prompts = Array.from({ length: 20 }, (_, seed) => randomTokens(1 + (seed * 7) % 48, seed, config.vocab));
const texts = ['the rain in Spain', "It's 12345 o'clock\n\n\t日本語 🙂"];
const cli = fileURLToPath(new URL('../../../trainer/cli/main.ts', import.meta.url));
const tsx = fileURLToPath(import.meta.resolve('tsx'));

describe('export', () => {
  let folder: string;
  let source: string;
  const at = (name: string) => path.join(folder, name);
  before(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'export-'));
    source = at('source');
    mkdirSync(source);
    await saveModel(source, { config, weights: smallWeights(config, 1, 0.1) });
    writeFileSync(path.join(source, 'tokenizer.json'), JSON.stringify(tokenizer.tokenizer));
    writeFileSync(path.join(source, 'tokenizer_config.json'), JSON.stringify(tokenizer.config));
    writeFileSync(path.join(source, 'trainer_state.json'), '{}');
  });
  after(() => rmSync(folder, { recursive: true }));

  it('hf: a copy of every file but the trainer\'s own; what is there already stays', async () => {
    await exportModel({ source, format: 'hf', type: null, out: at('copy') });
    assert.deepEqual(readdirSync(at('copy')), readdirSync(source).filter((name) => name !== 'trainer_state.json'));
    for (const name of readdirSync(at('copy'))) assert.deepEqual(readFileSync(path.join(at('copy'), name)), readFileSync(path.join(source, name)), name);
    await assert.rejects(exportModel({ source, format: 'hf', type: null, out: at('copy') }), /exists already/);
  });

  it('a type that the format has not is refused, and nothing is left behind', async () => {
    await assert.rejects(exportModel({ source, format: 'hf', type: 'q8_0', out: at('none') }), /cannot be written as hf.*f32, f16, bf16/);
    await assert.rejects(exportModel({ source: folder, format: 'gguf', type: null, out: at('none') }), /There is no .*config\.json/);
    assert.deepEqual(readdirSync(folder).filter((name) => name.startsWith('none')), []);
  });

  it('hf in other types: transformers computes the same logits, within the rounding of the type', async function () {
    const found = await findTransformers();
    if ('missing' in found) {
      process.stdout.write(`      ${found.missing}\n`);
      return this.skip();
    }
    const { weights } = await loadModel(source);
    const ours = new AllLogits(config, weights);
    const types = { f32: 1e-3, f16: 0.02, bf16: 0.2 };
    for (const type of Object.keys(types)) await exportModel({ source, format: 'hf', type, out: at(type) });
    const logits = await transformersLogits(found.python, Object.keys(types).map(at), prompts);
    for (const [i, [type, tolerance]] of Object.entries(types).entries()) {
      const most = await ours.largestDifference(prompts, logits[i]!);
      process.stdout.write(`      ${type}: max |Δlogit| ${most.toExponential(1)}\n`);
      assert.ok(most <= tolerance, `${type}: max |Δlogit| is ${most}`);
    }
  });

  it('gguf: llama.cpp gives the log-probabilities, tokens and greedy text of the file\'s weights', async function () {
    const llama = await LlamaCpp.start();
    if (typeof llama === 'string') {
      process.stdout.write(`      ${llama}\n`);
      return this.skip();
    }
    try {
      for (const [type, tolerance] of Object.entries({ f32: 1e-3, f16: 0.02, q8_0: 0.3 }) /* llama.cpp rounds activations as well, with Q8_0 to 8 bits */) {
        const file = at(`model-${type}.gguf`);
        await exportModel({ source, format: 'gguf', type, out: file });
        const ours = new AllLogits(config, (await loadModel(file)).weights);
        const theirs = await llama.open(file);
        let most = 0;
        for (const tokens of prompts) {
          const [a, b] = [await ours.logprobs(tokens), await theirs.logprobs(tokens)];
          b.forEach((row, t) => row.forEach((value, token) => { most = Math.max(most, Math.abs(value - a[t]![token]!)); }));
        }
        const cut = await openTokenizer(file, config.vocab);
        for (const text of texts) assert.deepEqual(theirs.tokenize(text), cut.encode(text), text);
        if (type !== 'q8_0') for (const text of texts) assert.deepEqual(await theirs.greedy(cut.encode(text), 8), await ours.greedy(cut.encode(text), 8), text);
        await theirs.close();
        assert.equal(((await readTokenizerFiles(file)).config as { chat_template: string }).chat_template, (tokenizer.config as { chat_template: string }).chat_template);
        process.stdout.write(`      ${type}: max |Δ log-probability| ${most.toExponential(1)}\n`);
        assert.ok(most <= tolerance, `${type}: max |Δ| is ${most}`);
      }
    } finally {
      await llama.stop();
    }
  });

  it('ollama: the GGUF file, and a Modelfile with the chat template, the ends of an answer and the context', async () => {
    await exportModel({ source, format: 'ollama', type: 'q8_0', out: at('mine') });
    assert.deepEqual(readdirSync(at('mine')).sort(), ['Modelfile', 'mine.gguf']);
    assert.equal((await loadModel(path.join(at('mine'), 'mine.gguf'))).config.family, 'qwen3');
    assert.equal(readFileSync(path.join(at('mine'), 'Modelfile'), 'utf8'), [
      'FROM ./mine.gguf',
      'TEMPLATE """{{ range $i, $message := .Messages }}{{ if eq .Role "user" }}<|im_start|>user',
      '{{ .Content }}<|im_end|>', '<|im_start|>assistant',
      '{{ else if eq .Role "assistant" }}{{ .Content }}<|im_end|>',
      '{{ else if eq .Role "system" }}<|im_start|>system',
      '{{ .Content }}<|im_end|>',
      '{{ end }}{{ end }}"""', 'PARAMETER stop "<|im_end|>"', 'PARAMETER num_ctx 256', '',
    ].join('\n'));
  });

  it('the command line: what a run has trained, else a folder', async () => {
    const run = path.join(folder, '.agent-trainer', 'runs', 'ru-1');
    mkdirSync(run, { recursive: true });
    const agentTrainer = (...args: string[]) => new Promise<{ stdout: string; stderr: string }>((resolve) => {
      execFile(process.execPath, ['--import', tsx, cli, ...args], { cwd: folder, encoding: 'utf8' }, (_, stdout, stderr) => resolve({ stdout, stderr }));
    });
    const exported = (...args: string[]) => agentTrainer('export', ...args);
    assert.match((await exported('ru-1', '--format', 'hf', '--out', 'a')).stderr, /^agent-trainer: Run ru-1 has trained no model yet\./);
    await exportModel({ source, format: 'hf', type: null, out: path.join(run, 'policy') });
    assert.equal((await exported('ru-1', '--format', 'hf', '--out', 'a')).stdout, `${at('a')}\n`);
    assert.ok(existsSync(path.join(at('a'), 'model.safetensors')));
    assert.equal((await exported('source', '--format', 'gguf', '--type', 'q8_0', '--out', 'b.gguf')).stdout, `${at('b.gguf')}\n`);
    assert.match((await exported('ru-1', '--format', 'ollama', '--out', 'c')).stderr, /ollama create c -f c[/\\]Modelfile\n$/);
    assert.equal(readFileSync(at('b.gguf')).toString('latin1', 0, 4), 'GGUF');
  }).timeout(120_000);
});
