import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { layouts } from '../../../trainer/models/decoder-config.ts';
import { saveGguf } from '../../../trainer/models/gguf/save.ts';
import { loadModel } from '../../../trainer/models/model-folder.ts';
import { openTokenizer } from '../../../trainer/models/tokenizer.ts';
import { AllLogits } from '../../fixtures/all-logits.ts';
import { LlamaCpp } from '../../fixtures/llama-cpp.ts';
import { tinyFamilies } from '../../fixtures/tiny-families.ts';
import { randomTokens, smallWeights } from '../../unit/models/small-model.ts';

const prompts = 100;
const texts = ['the rain in Spain', "It's 12345 o'clock,  they'd say:\n\n\tüber 日本語 🙂 é", '  two  blanks and\r\nmore   ', 'the plain falls mainly on the 1 house'];

describe('parity with llama.cpp', () => {
  let folder: string;
  let llama: LlamaCpp;
  before(async function () {
    folder = mkdtempSync(path.join(tmpdir(), 'parity-'));
    const started = await LlamaCpp.start();
    if (typeof started !== 'string') llama = started;
    else {
      process.stdout.write(`${started}\n`);
      this.skip();
    }
  });
  after(async () => {
    rmSync(folder, { recursive: true });
    await llama?.stop();
  });

  for (const [name, { config, tokenizer }] of Object.entries(tinyFamilies)) {
    it(`${name}: logits within 1e-3 over ${prompts} random prompts, the same tokens for a text`, async () => {
      const file = path.join(folder, `${name}.gguf`);
      // llama.cpp looks GELU up in a table of half-precision numbers, which with larger weights shows in the third digit.
      const deviation = layouts[config.family].activation === 'geluTanh' ? 0.04 : 0.1;
      await saveGguf(file, { name, config, weights: smallWeights(config, 1, deviation), tokenizer }, 'F32');
      const { config: read, weights } = await loadModel(file);
      const ours = new AllLogits(read, weights);
      const theirs = await llama.open(file);
      try {
        let most = 0;
        for (let seed = 0; seed < prompts; seed++) {
          const tokens = randomTokens(1 + (seed * 7) % 48, seed, config.vocab);
          const [a, b] = [await ours.logprobs(tokens), await theirs.logprobs(tokens)];
          assert.equal(b.length, tokens.length);
          b.forEach((row, t) => row.forEach((value, token) => { most = Math.max(most, Math.abs(value - a[t]![token]!)); }));
        }
        process.stdout.write(`      ${name}: max |Δ| ${most.toExponential(1)}\n`);
        assert.ok(most <= 1e-3, `max |Δ| is ${most}`);
        const cut = await openTokenizer(file, config.vocab);
        for (const text of texts) assert.deepEqual(cut.encode(text), theirs.tokenize(text), text);
      } finally {
        await theirs.close();
      }
    });
  }
});
