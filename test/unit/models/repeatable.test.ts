import assert from 'node:assert/strict';
import { compile } from '../../../trainer/engine/executor.ts';
import { float32, int32 } from '../../../trainer/engine/tensor.ts';
import { decoderConfig } from '../../../trainer/models/decoder-config.ts';
import { trainingGraph } from '../../../trainer/models/training-graph.ts';
import { initialParameters } from '../../../trainer/models/weights.ts';
import { unpacked } from './small-model.ts';

describe('models: repeatability', () => {
  it('gives the same bits for every gradient at every run, with two threads', async () => {
    const config = decoderConfig('qwen2', { vocab: 1024, hidden: 128, intermediate: 352, layers: 2, heads: 4, kvHeads: 2, headDim: 32, contextLength: 512 });
    const [batch, length, trained] = [16, 128, 512];
    const graph = trainingGraph(config, { batch, length, trained }, { kind: 'supervised' });
    const exe = await compile(graph, { provider: 'cpu', threads: 2 });
    const feeds = {
      ...Object.fromEntries(initialParameters(config, 1, 0.05).tensors),
      tokens: int32([batch, length], Array.from({ length: batch * length }, (_, i) => (i * 7919) % config.vocab)),
      ...unpacked(batch, length),
      position: int32([trained], Array.from({ length: trained }, (_, i) => (i * 3) % (batch * length))),
      target: int32([trained], Array.from({ length: trained }, (_, i) => i % 1000)),
      inv_temperature: float32([trained], new Float32Array(trained).fill(1)),
      weight: float32([trained], new Float32Array(trained).fill(1 / trained)),
    };
    const bytes = async () => Object.entries(await exe.run(feeds)).map(([name, { data }]) => [name, Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('latin1')] as const);
    const first = new Map(await bytes());
    const differing = new Set<string>();
    for (let i = 0; i < 15; i++) for (const [name, value] of await bytes()) if (value !== first.get(name)) differing.add(name);
    await exe.release();
    assert.deepEqual([...differing], []);
  }).timeout(60_000);
});
