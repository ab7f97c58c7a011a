import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { writeBenchModel } from '../../../bench/fixtures/bench-models.ts';
import { PeerProcess, Timed } from '../../../bench/peers/peer-process.ts';
import { ownSampler } from '../../../bench/peers/samplers.ts';
import { ownSteps } from '../../../bench/peers/steps.ts';
import { decoderConfig } from '../../../trainer/models/decoder-config.ts';

const tiny = decoderConfig('llama', { vocab: 400, hidden: 32, intermediate: 64, layers: 2, heads: 2, kvHeads: 1, headDim: 16, contextLength: 256 });

describe('what the benchmarks measure', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'bench-'));
  const running: PeerProcess[] = [];
  const started = (process: PeerProcess) => {
    running.push(process);
    return process;
  };

  before(() => writeBenchModel(folder, tiny));
  after(async () => {
    for (const process of running) await process.close();
    rmSync(folder, { recursive: true });
  });

  it('answers are as long as asked for, alone and together', async () => {
    const sampler = started(ownSampler(folder, 1));
    const prompts = [[301, 302, 303], [304, 305, 306]];
    assert.equal((await sampler.ask({ prompts, new_tokens: 5, seed: 1 }, Timed)).tokens, 10);
    const { tokens, seconds, peak_mb } = await sampler.ask({ prompts: prompts.slice(1), new_tokens: 1, seed: 2 }, Timed);
    assert.equal(tokens, 1);
    assert.ok(seconds > 0 && peak_mb > 0);
    assert.equal((await started(ownSampler(folder, 1, 'int8')).ask({ prompts, new_tokens: 5, seed: 1 }, Timed)).tokens, 10);
  });

  it('a step trains every token of a group', async () => {
    const steps = started(ownSteps({ folder, threads: 1, lr: 1e-3 }));
    const { tokens } = await steps.ask({ kind: 'grpo', messages: [{ role: 'user', content: 'count' }], group: 4, new_tokens: 6, seed: 1 }, Timed);
    assert.equal(tokens, 24);
    assert.equal((await steps.ask({ kind: 'sft', rows: 2, length: 16, seed: 1 }, Timed)).tokens, 32);
  });

  it('a process that ends instead of answering is told with its last words', async () => {
    const broken = started(new PeerProcess(process.execPath, ['-e', 'console.error("no such model"); process.exit(3)'], 1));
    await assert.rejects(broken.ask({}, Timed), /ended with 3: no such model/);
  });
});
