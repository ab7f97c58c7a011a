import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import path from 'node:path';

const common = { layers: 3, heads: 4, kvHeads: 2, headDim: 32, contextLength: 4096 };
const models = {
  'many layers': { ...common, vocab: 2048, hidden: 256, intermediate: 704, layers: 8, heads: 8 },
  'a large vocabulary': { ...common, vocab: 65536, hidden: 128, intermediate: 384 },
};
const rows = { batch: 8, length: 128, trained: 64 };

/** What is estimated of the memory of a step, as a share of what it takes. Between these all factors of the estimate are wrong by less than what other programs of the machine change. */
const [least, most] = [0.7, 1.4];

describe('the estimate of memory', function () {
  before(function () { if (process.platform !== 'linux') this.skip(); }); // /proc

  const measure = (step: object) => JSON.parse(execFileSync(process.execPath, ['--import', 'tsx', path.join(import.meta.dirname, 'measured-step.ts'), JSON.stringify(step)], { encoding: 'utf8' })) as { measured: number; estimated: number; held: number };

  for (const [name, sizes] of Object.entries(models)) {
    for (const way of ['whole', 'layers', 'recompute'] as const) {
      it(`is near what a step takes: ${name}, ${way}, the model itself and LoRA`, () => {
        for (const lora of [0, 8]) {
          const { measured, estimated, held } = measure({ sizes, lora, way, ...rows });
          const what = `${(estimated / 2 ** 20).toFixed(0)} MB estimated, ${(measured / 2 ** 20).toFixed(0)} MB measured${lora ? ' with LoRA' : ''}`;
          process.stdout.write(`      ${what} (${(estimated / measured).toFixed(2)})\n`);
          assert.ok(measured > 2 * held, `${what}: the activations matter`);
          assert.ok(estimated > least * measured && estimated < most * measured, what);
        }
      });
    }
  }

  it('of rows with long attention', () => {
    const { measured, estimated } = measure({ sizes: models['many layers'], lora: 0, way: 'layers', batch: 2, length: 1024, trained: 256 });
    process.stdout.write(`      ${(estimated / 2 ** 20).toFixed(0)} MB estimated, ${(measured / 2 ** 20).toFixed(0)} MB measured (${(estimated / measured).toFixed(2)})\n`);
    assert.ok(estimated > least * measured && estimated < most * measured);
  });
}).timeout(600_000);
