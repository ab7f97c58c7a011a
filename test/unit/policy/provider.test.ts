import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Provider, ProviderTrial } from '../../../trainer/protocol/providers.ts';
import { candidates, type Platform } from '../../../trainer/policy/provider/candidates.ts';
import { choiceKey, knownChoice, rememberChoice } from '../../../trainer/policy/provider/choice-cache.ts';
import { decide, describeChoice, tryAll } from '../../../trainer/policy/provider/choose.ts';
import { plainReason, probe } from '../../../trainer/policy/provider/probe.ts';
import { sizeClass } from '../../../trainer/policy/provider/time-provider.ts';
import { smallConfig } from '../models/small-model.ts';

const linux: Platform = { os: 'linux', arch: 'x64', nvidia: false, cudaBinaries: false, tensorFlow: false };
const installed = (platform: Platform) => candidates(platform).filter(({ missing }) => missing === null).map(({ provider }) => provider);
const timed = (provider: Provider, per_token: number): ProviderTrial => ({ provider, refused: null, timing: { train_ms: 1, decode_ms: 1, per_token } });

describe('choice of the provider', () => {
  it('knows the providers of each platform, and what is not installed', () => {
    assert.deepEqual(installed(linux), ['cpu', 'webgpu']);
    assert.deepEqual(installed({ ...linux, nvidia: true, cudaBinaries: true, tensorFlow: true }), ['cpu', 'cuda', 'webgpu', 'tensorflow']);
    assert.deepEqual(installed({ ...linux, os: 'win32' }), ['cpu', 'dml', 'webgpu']);
    assert.deepEqual(installed({ ...linux, os: 'darwin', arch: 'arm64' }), ['cpu', 'coreml', 'webgpu']);
    assert.deepEqual(installed({ ...linux, arch: 'arm64' }), ['cpu']);
    const missing = candidates({ ...linux, nvidia: true }).find(({ provider }) => provider === 'cuda')!.missing!;
    assert.match(missing, /binaries for CUDA 12 are not installed.*--install cuda/);
  });

  it('takes the fastest, says how much faster it is, and why others are refused', () => {
    const choice = decide([timed('cpu', 11.3), timed('cuda', 1), timed('webgpu', 2.5), { provider: 'tensorflow', refused: 'not installed' }]);
    assert.equal(describeChoice(choice), 'CUDA (11 × as fast as CPU, 2.5 × as fast as WebGPU; TensorFlow.js: not installed)');
    assert.equal(decide([timed('cpu', 1), timed('webgpu', 40)]).provider, 'cpu');
  });

  it('takes the CPU, untried, where nothing else is installed', async () => {
    const trials = await tryAll(candidates({ ...linux, arch: 'arm64' }), () => assert.fail('tried'));
    assert.equal(describeChoice(decide(trials)), 'CPU (the only provider here)');
  });

  it('takes the CPU when everything else fails', async () => {
    const trials = await tryAll(candidates(linux), async (provider) => (provider === 'cpu' ? timed('cpu', 3) : { provider, refused: 'No supported adapters' }));
    assert.equal(describeChoice(decide(trials)), 'CPU (the only provider here; CUDA: no NVIDIA driver; WebGPU: No supported adapters; TensorFlow.js: no NVIDIA driver)');
  });

  it('says what failed without the places in other sources', () => {
    const message = 'The graph cannot be compiled for the provider "webgpu": /src/core/webgpu_context.cc:136 void f()::<lambda()> status == Success was false. Failed to get a WebGPU adapter: No supported adapters\n';
    assert.equal(plainReason(message), 'Failed to get a WebGPU adapter: No supported adapters');
  });

  describe('processes that try a provider', () => {
    let folder: string;
    before(() => { folder = mkdtempSync(path.join(tmpdir(), 'probe-')); });
    after(() => { rmSync(folder, { recursive: true, force: true }); });
    const run = (code: string, limitMs = 60_000, signal?: AbortSignal) => {
      const file = path.join(folder, `${code.length}.mjs`);
      writeFileSync(file, code);
      return probe({ provider: 'webgpu', threads: 1, config: smallConfig }, { limitMs, file, ...(signal ? { signal } : {}) });
    };

    it('may abort, with what they printed as the reason', async () => {
      assert.deepEqual(await run("process.stderr.write('noise\\nVulkan: device lost\\n', () => process.kill(process.pid, 'SIGABRT'))"), { provider: 'webgpu', refused: 'its process ended with SIGABRT: Vulkan: device lost' });
    });

    it('may hang', async () => {
      assert.deepEqual(await run("process.on('message', () => { for (;;); })", 300), { provider: 'webgpu', refused: 'no answer within 0.3 s' });
    });

    it('may refuse', async () => {
      assert.deepEqual(await run("process.on('message', () => process.send({ refused: 'No adapter.' }))"), { provider: 'webgpu', refused: 'No adapter' });
    });

    it('end when they are no longer wanted', async () => {
      const controller = new AbortController();
      setTimeout(() => { controller.abort(); }, 50);
      await assert.rejects(run("process.on('message', () => { /* no answer */ })", 60_000, controller.signal), { name: 'AbortError' });
    });
  });

  it('is remembered until something that it depends on changes', async () => {
    const kept = process.env['XDG_CACHE_HOME'];
    const folder = mkdtempSync(path.join(tmpdir(), 'choices-'));
    process.env['XDG_CACHE_HOME'] = folder;
    try {
      const key = await choiceKey(smallConfig, 2, candidates(linux));
      assert.equal(await knownChoice(key), null);
      const choice = decide([timed('cpu', 2), timed('webgpu', 1)]);
      await rememberChoice(key, choice);
      assert.deepEqual(await knownChoice(key), choice);
      assert.equal(await knownChoice(await choiceKey(smallConfig, 2, candidates({ ...linux, nvidia: true }))), null);
      assert.equal(await knownChoice(await choiceKey({ ...smallConfig, hidden: 32 }, 2, candidates(linux))), null);
      assert.equal(await knownChoice(await choiceKey(smallConfig, 4, candidates(linux))), null);
    } finally {
      if (kept === undefined) delete process.env['XDG_CACHE_HOME'];
      else process.env['XDG_CACHE_HOME'] = kept;
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('is measured with a small piece of the model', () => {
    const sliding = { size: 8, layers: Array.from({ length: 24 }, (_, i) => i % 2 === 0), rope: smallConfig.rope };
    const piece = sizeClass({ ...smallConfig, layers: 24, vocab: 151_936, contextLength: 32_768, sliding });
    assert.deepEqual([piece.layers, piece.sliding!.layers, piece.vocab, piece.contextLength, piece.hidden], [2, [true, false], 8192, 256, smallConfig.hidden]);
  });
});
