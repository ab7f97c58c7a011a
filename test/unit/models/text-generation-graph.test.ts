import assert from 'node:assert/strict';
import { lower } from '../../../trainer/engine/onnx/lower.ts';
import { standardOperators } from '../../../trainer/engine/onnx/profile.ts';
import { textGenerationGraph } from '../../../trainer/models/text-generation-graph.ts';
import { smallConfig } from './small-model.ts';

const lowered = (vocab: number) => {
  const { graph, axes } = textGenerationGraph({ ...smallConfig, vocab });
  return { axes, model: lower(graph, standardOperators, axes) };
};

describe('the graph for text generation', () => {
  it('has axes of any size where the cache, the batch and the tokens are, and operators of the standard alone', () => {
    const { inputs, outputs, nodes } = lowered(23).model;
    const all = 'past_sequence_length + sequence_length';
    assert.deepEqual(inputs.get('input_ids'), { dtype: 'int64', shape: ['batch_size', 'sequence_length'] });
    assert.deepEqual(inputs.get('attention_mask'), { dtype: 'int64', shape: ['batch_size', all] });
    assert.deepEqual(inputs.get('past_key_values.1.value'), { dtype: 'float32', shape: ['batch_size', 2, 'past_sequence_length', 4] });
    assert.deepEqual(outputs.get('logits'), { dtype: 'float32', shape: ['batch_size', 'sequence_length', 23] });
    assert.deepEqual(outputs.get('present.0.key'), { dtype: 'float32', shape: ['batch_size', 2, all, 4] });
    assert.ok(nodes.every(({ domain, opType }) => domain === '' && opType !== 'SimplifiedLayerNormalization'));
  });

  it('no size of the model is taken for one of these axes', () => {
    for (const { standIn } of lowered(23).axes) {
      for (const vocab of [standIn, 3 * standIn]) {
        const { axes, model } = lowered(vocab);
        assert.deepEqual(model.outputs.get('logits')?.shape, ['batch_size', 'sequence_length', vocab]);
        assert.ok(axes.every((axis) => vocab % axis.standIn !== 0), `${vocab}`);
      }
    }
  });
});
