import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import * as ort from 'onnxruntime-node';
import { exportModel } from '../../../trainer/export/export-model.ts';
import type { DecoderConfig } from '../../../trainer/models/decoder-config.ts';
import { saveModel } from '../../../trainer/models/model-folder.ts';
import type { ParameterBlock } from '../../../trainer/models/weights.ts';
import { AllLogits } from '../../fixtures/all-logits.ts';
import { readWithPython, type OnnxReading } from '../../fixtures/onnx-runtime.ts';
import { tinyFamilies } from '../../fixtures/tiny-families.ts';
import { randomTokens, smallWeights } from '../../unit/models/small-model.ts';

const prompts = Array.from({ length: 30 }, (_, seed) => randomTokens(1 + (seed * 7) % 48, seed, 320));
const answerLength = 12;

interface Exported { name: string; config: DecoderConfig; weights: ParameterBlock; source: string; out: string }

describe('export as ONNX', () => {
  let folder: string;
  let models: Exported[];
  before(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'export-onnx-'));
    models = Object.entries(tinyFamilies).map(([name, { config }], i) => ({
      name, config, weights: smallWeights(config, 1, 0.1), source: path.join(folder, `source-${i}`), out: path.join(folder, `onnx-${i}`),
    }));
    for (const { name, source, out, ...model } of models) {
      mkdirSync(source);
      await saveModel(source, model);
      writeFileSync(path.join(source, 'tokenizer.json'), JSON.stringify(tinyFamilies[name]!.tokenizer.tokenizer));
      await exportModel({ source, format: 'onnx', type: null, out });
    }
  });
  after(() => rmSync(folder, { recursive: true }));

  it('a folder with the graph, its weights beside it, the configuration and the tokenizer', () => {
    assert.deepEqual(readdirSync(models[0]!.out).sort(), ['config.json', 'generation_config.json', 'model.onnx', 'model.onnx_data', 'tokenizer.json']);
  });

  it('every family: ONNX\'s checker passes, and Python\'s ONNX Runtime gives our logits and, for 20 prompts in one batch padded on the left, our greedy answers', async function () {
    const readings = await readWithPython(models.map(({ out }) => out), prompts, answerLength);
    if (typeof readings === 'string') {
      process.stdout.write(`      ${readings}\n`);
      return this.skip();
    }
    for (const [i, { name, config, weights }] of models.entries()) {
      const ours = new AllLogits(config, weights);
      const { logits, domains, answers }: OnnxReading = readings[i]!;
      assert.deepEqual(domains, [''], name);
      const most = await ours.largestDifference(prompts, logits);
      process.stdout.write(`      ${name}: max |Δlogit| ${most.toExponential(1)}\n`);
      assert.ok(most <= 1e-4, `${name}: max |Δlogit| is ${most}`);
      for (const [p, answer] of answers.entries()) assert.deepEqual(answer, await ours.greedy(prompts[p]!, answerLength), `${name}, prompt ${p}`);
    }
  });

  it('every family: tokens after cached ones, padded on the right, with onnxruntime-node', async () => {
    for (const { name, config, weights, out } of models) {
      const session = await ort.InferenceSession.create(path.join(out, 'model.onnx'));
      const rows = [prompts[6]!, prompts[5]!.slice(0, 30)];
      const width = rows[0]!.length;
      const first = 11;
      const cut = (from: number, to: number) => rows.map((row) => Array.from({ length: to - from }, (_, t) => row[from + t] ?? 0));
      const begun = await session.run(feeds(config, cut(0, first), rows, {}));
      const { logits } = await session.run(feeds(config, cut(first, width), rows, begun));
      const ours = new AllLogits(config, weights);
      let most = 0;
      for (const [r, row] of rows.entries()) {
        for (const [t, expected] of (await ours.logits(row)).entries()) {
          if (t < first) continue;
          const start = (r * (width - first) + t - first) * config.vocab;
          expected.forEach((value, token) => { most = Math.max(most, Math.abs(value - (logits!.data as Float32Array)[start + token]!)); });
        }
      }
      assert.ok(most <= 1e-4, `${name}: max |Δlogit| is ${most}`);
      await session.release();
    }
  });
});

/** The inputs for the next `tokens` of rows of which `past` is the last answer. */
function feeds({ layers, kvHeads, headDim }: DecoderConfig, tokens: number[][], rows: readonly number[][], past: Record<string, ort.Tensor>): Record<string, ort.Tensor> {
  const [batch, length] = [tokens.length, tokens[0]!.length];
  const before = past['present.0.key']?.dims[2] ?? 0;
  const int64 = (values: number[][]) => new ort.Tensor('int64', BigInt64Array.from(values.flat(), BigInt), [batch, values[0]!.length]);
  const caches = Array.from({ length: layers }, (_, layer) => ['key', 'value'].map((part) => [
    `past_key_values.${layer}.${part}`, past[`present.${layer}.${part}`] ?? new ort.Tensor('float32', new Float32Array(0), [batch, kvHeads, 0, headDim]),
  ] as const)).flat();
  return {
    input_ids: int64(tokens),
    attention_mask: int64(rows.map((row) => Array.from({ length: before + length }, (_, t) => (t < row.length ? 1 : 0)))),
    position_ids: int64(rows.map(() => Array.from({ length }, (_, t) => before + t))),
    ...Object.fromEntries(caches),
  };
}
