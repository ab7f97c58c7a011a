import assert from 'node:assert/strict';
import { elementCount } from '../../../trainer/engine/tensor.ts';
import { parameterCount, parameterShapes } from '../../../trainer/models/parameters.ts';
import { estimateMemory } from '../../../trainer/policy/memory.ts';
import { tinyFamilies } from '../../fixtures/tiny-families.ts';

describe('the estimate of memory', () => {
  const { config } = Object.values(tinyFamilies)[0]!;
  const parameters = parameterCount(config);
  const use = { tokens: 64, length: 64, way: 'whole', reference: false, undo: false } as const;

  it('counts a copy of the model for each type that is sampled with', () => {
    const sampler = (...sampled: ('float32' | 'int8')[]) => estimateMemory(config, { ...use, trained: parameters, base: 'float32', sampled }).sampler / parameters;
    assert.deepEqual([sampler('float32'), sampler('int8'), sampler('float32', 'int8'), sampler('int8', 'int8')], [4, 1.125, 5.125, 1.125]);
  });

  it('counts the linear layers of a frozen model as they are kept, and those of float16 and int8 once', () => {
    const linear = [...parameterShapes(config)].reduce((sum, [name, shape]) => sum + (/(q|k|v|o|gate|up|down)_proj\.weight$/.test(name) ? elementCount(shape) : 0), 0);
    const per = (base: 'float32' | 'float16' | 'int8' | 'int4') => {
      const { weights, sampler } = estimateMemory(config, { ...use, trained: 10, base, sampled: ['float32'] });
      return [weights - 40, sampler].map((bytes) => (bytes - 4 * (parameters - linear)) / linear);
    };
    assert.deepEqual([per('float32'), per('float16'), per('int8'), per('int4')], [[4, 4], [2, 0], [1.125, 0], [0.625, 0.625]]);
  });
});
