import assert from 'node:assert/strict';
import { decoderConfig, families } from '../../../trainer/models/decoder-config.ts';
import { trainingGraph } from '../../../trainer/models/training-graph.ts';
import { parameterShapes } from '../../../trainer/models/parameters.ts';
import { referenceLogprobs, referenceLogits, softmax } from './reference.ts';
import { randomTokens, runRow, smallConfig, smallWeights } from './small-model.ts';

describe('decoder', () => {
  const untied = { ...smallConfig, tied: false };
  const sliding = (theta: number) => ({ size: 4, layers: [true, false], rope: { theta, scaling: null } });
  const variants: Record<string, typeof smallConfig> = {
    ...Object.fromEntries(families.map((family) => [family, decoderConfig(family, { ...smallConfig })])),
    'untied': untied,
    'one head per key': { ...smallConfig, kvHeads: 4 },
    'wide heads': decoderConfig('qwen2', { ...smallConfig, headDim: 8 }),
    'all biases': decoderConfig('llama', smallConfig, { attentionBias: 'qkvo' }),
    'sliding window': { ...smallConfig, sliding: sliding(10_000) },
    'soft caps': decoderConfig('gemma2', smallConfig, { sliding: sliding(10_000), attentionScale: 0.3, attentionSoftcap: 2, logitSoftcap: 3 }),
    'local rotary embedding': decoderConfig('gemma3_text', smallConfig, { sliding: sliding(10), rope: { theta: 1000, scaling: null } }),
  };
  for (const [name, config] of Object.entries(variants)) {
    it(`gives the log-probabilities of a float64 forward pass (${name})`, async () => {
      const weights = smallWeights(config);
      const tokens = randomTokens(17, 3);
      for (const temperature of [1, 0.6]) {
        const { logprob, entropy } = await runRow({ config, weights, tokens, objective: { kind: 'logprobs' }, temperature });
        const expected = referenceLogprobs(config, weights, tokens, temperature);
        for (let t = 1; t < tokens.length; t++) near(logprob![t - 1]!, expected[t]!, 2e-5);
        const p = softmax(referenceLogits(config, weights, tokens)[4]!.map((z) => z / temperature));
        near(entropy![4]!, -p.reduce((sum, x) => sum + x * Math.log(x), 0), 2e-5);
      }
    });
  }

  it('does not let padding change a token', async () => {
    const weights = smallWeights();
    const tokens = randomTokens(11, 5);
    const alone = await runRow({ weights, tokens, objective: { kind: 'logprobs' } });
    const padded = await runRow({ weights, tokens, length: 18, objective: { kind: 'logprobs' } });
    tokens.slice(1).forEach((_, i) => near(alone['logprob']![i]!, padded['logprob']![i]!, 1e-5));
  });

  it('does not see later tokens', async () => {
    const weights = smallWeights();
    const tokens = randomTokens(11, 6);
    const changed = [...tokens.slice(0, 8), ...tokens.slice(8).map((t) => (t + 1) % smallConfig.vocab)];
    const [a, b] = [await runRow({ weights, tokens, objective: { kind: 'logprobs' } }), await runRow({ weights, tokens: changed, objective: { kind: 'logprobs' } })];
    for (let i = 0; i < 7; i++) near(a['logprob']![i]!, b['logprob']![i]!, 1e-6);
    assert.ok(Math.abs(a['logprob']![8]! - b['logprob']![8]!) > 1e-4);
  });

  it('has gradients that finite differences confirm, for every parameter, tied embeddings included', async () => {
    for (const config of [smallConfig, untied, variants['soft caps']!, variants['local rotary embedding']!]) {
      const weights = smallWeights(config);
      const tokens = randomTokens(9, 7);
      const weight = tokens.slice(1).map((_, i) => 0.1 + 0.05 * i);
      const result = await runRow({ config, weights, tokens, objective: { kind: 'supervised' }, perToken: { weight } });
      const loss = () => -referenceLogprobs(config, weights, tokens).slice(1).reduce((sum, x, i) => sum + weight[i]! * x, 0);
      near(result['loss']![0]!, loss(), 1e-4);
      for (const name of parameterShapes(config).keys()) {
        const { data } = weights.tensors.get(name)!;
        // Index 16·token for the embedding: rows that are input, output or both.
        for (const i of name === 'model.embed_tokens.weight' ? [tokens[0]! * 16 + 3, tokens[4]! * 16 + 5, 22 * 16] : [0, data.length - 1]) {
          const kept = data[i]!;
          data[i] = kept + 2 ** -10;
          const up = loss();
          data[i] = kept - 2 ** -10;
          const slope = (up - loss()) / 2 ** -9;
          data[i] = kept;
          near(result[`grad ${name}`]![i]!, slope, 2e-4 + 2e-3 * Math.abs(slope), name);
        }
      }
    }
  });

  it('counts tied embeddings once', () => {
    const graph = trainingGraph(smallConfig, { batch: 1, length: 4, trained: 3 }, { kind: 'supervised' });
    assert.equal([...graph.outputs.keys()].filter((name) => name.startsWith('grad ')).length, parameterShapes(smallConfig).size);
    assert.ok(!parameterShapes(smallConfig).has('lm_head.weight'));
  });
});

function near(actual: number, expected: number, tolerance: number, what = 'value'): void {
  assert.ok(Math.abs(actual - expected) <= tolerance, `${what}: ${actual} is not within ${tolerance} of ${expected}`);
}
