import assert from 'node:assert/strict';
import { hubNameOf } from '../../../trainer/models/hub/cache.ts';

describe('the cache of the Hugging Face hub', () => {
  it('tells the name of a model by its place', () => {
    assert.equal(hubNameOf('/home/me/.cache/huggingface/hub/models--Qwen--Qwen2.5-0.5B-Instruct/snapshots/c0ffee/'), 'Qwen/Qwen2.5-0.5B-Instruct');
    assert.equal(hubNameOf('C:\\hub\\models--a--b--c\\snapshots\\1\\model.gguf'), 'a/b--c');
    assert.equal(hubNameOf('/models/models--a--b'), null);
    assert.equal(hubNameOf('/models/policy'), null);
  });
});
