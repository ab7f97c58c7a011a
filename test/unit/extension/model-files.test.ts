import assert from 'node:assert/strict';
import { modelAmong } from '../../../src/runs/model-files.ts';

describe('the model of a first configuration', () => {
  it('is the nearest folder with weights, whole or in shards, else a GGUF file', () => {
    assert.equal(modelAmong([]), null);
    assert.equal(modelAmong(['models/deep/model.safetensors', 'policy/model.safetensors']), 'policy');
    assert.equal(modelAmong(['big/model.safetensors.index.json', 'a/b/model.safetensors']), 'big');
    assert.equal(modelAmong(['model.safetensors']), '.');
    assert.equal(modelAmong(['z.gguf', 'models/a.gguf']), 'z.gguf');
    assert.equal(modelAmong(['z.gguf', 'models/x/model.safetensors']), 'models/x');
    assert.equal(modelAmong(['my-model.safetensors']), null);
  });
});
