import assert from 'node:assert/strict';
import { parameterCount } from '../../../trainer/models/parameters.ts';
import { estimateMemory } from '../../../trainer/policy/memory.ts';
import { tinyFamilies } from '../../fixtures/tiny-families.ts';

describe('the estimate of memory', () => {
  it('counts a copy of the model for each type that is sampled with', () => {
    const { config } = Object.values(tinyFamilies)[0]!;
    const parameters = parameterCount(config);
    const sampler = (...sampled: ('float32' | 'int8')[]) => estimateMemory(config, { trained: parameters, tokens: 64, length: 64, way: 'whole', reference: false, undo: false, sampled }).sampler / parameters;
    assert.deepEqual([sampler('float32'), sampler('int8'), sampler('float32', 'int8'), sampler('int8', 'int8')], [4, 1.125, 5.125, 1.125]);
  });
});
