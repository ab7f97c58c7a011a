import assert from 'node:assert/strict';
import fc from 'fast-check';
import { canonicalJson, contentOf } from '../../../trainer/datasets/canonical.ts';
import { assertDisjoint, splitTasks } from '../../../trainer/datasets/split.ts';
import type { Task } from '../../../trainer/datasets/tasks.ts';
import { trainerError } from '../store/support.ts';

function tasksOf(inputs: unknown[]): Task[] {
  return inputs.map((input, index) => ({ id: String(index), input, line: index + 1 }));
}

const numbered = tasksOf(Array.from({ length: 100 }, (_, q) => ({ id: q, q })));
const lines = (tasks: Task[]) => tasks.map(({ line }) => line);

describe('datasets: split', () => {
  it('gives the share asked for, the same for the same seed, another for another', () => {
    const split = splitTasks(numbered, { validation_share: 0.2, seed: 1 });
    assert.deepEqual([split.train.length, split.validation.length], [80, 20]);
    assert.deepEqual(splitTasks(numbered, { validation_share: 0.2, seed: 1 }), split);
    assert.notDeepEqual(splitTasks(numbered, { validation_share: 0.2, seed: 2 }), split);
  });

  it('does not depend on the order of the tasks, nor on their ids', () => {
    const split = splitTasks(numbered, { validation_share: 0.2, seed: 1 });
    const shuffled = numbered.toReversed().map((task) => ({ ...task, id: `new-${task.id}`, input: { q: (task.input as { q: number }).q, id: 'new' } }));
    assert.deepEqual(lines(splitTasks(shuffled, { validation_share: 0.2, seed: 1 }).validation).toSorted((a, b) => a - b), lines(split.validation));
  });

  it('never puts the same content on both sides, whatever the tasks', () => {
    const input = fc.oneof(fc.record({ id: fc.nat(), q: fc.nat(4), r: fc.constantFrom('x', 'y') }), fc.record({ r: fc.constantFrom('x', 'y'), q: fc.nat(4) }), fc.nat(3));
    fc.assert(fc.property(fc.array(input, { minLength: 2, maxLength: 40, size: 'max' }), fc.double({ min: 0.01, max: 0.99, noNaN: true }), fc.integer(), (inputs, validation_share, seed) => {
      const tasks = tasksOf(inputs);
      fc.pre(new Set(tasks.map((task) => contentOf(task.input))).size > 1);
      const { train, validation } = splitTasks(tasks, { validation_share, seed });
      assert.ok(train.length > 0 && validation.length > 0);
      assert.deepEqual(assertDisjoint(train, validation), []);
      assert.deepEqual([...lines(train), ...lines(validation)].toSorted((a, b) => a - b), lines(tasks));
      assert.deepEqual(lines(train), lines(train).toSorted((a, b) => a - b));
    }));
  });

  it('refuses tasks that are all the same', () => {
    assert.throws(() => splitTasks(tasksOf([{ id: 1, q: 1 }, { id: 2, q: 1 }]), { validation_share: 0.5, seed: 0 }), trainerError('bad_input', /not two different/));
  });

  it('names tasks that are on both sides, with their lines', () => {
    const train = tasksOf([{ id: 'a', q: 1 }, { id: 'b', q: 2 }]);
    const validation = tasksOf([{ id: 'c', q: 3 }, { id: 'd', q: 2 }, 5]);
    const warnings = assertDisjoint(train, validation);
    assert.equal(warnings.length, 1);
    assert.match(warnings[0]!, /Validation task 1 \(line 2\) is also training task 1 \(line 2\)/);
    assert.deepEqual(assertDisjoint(train, train).length, 2);
  });
});

describe('datasets: canonical JSON', () => {
  it('is the same for equal values and different for others', () => {
    assert.equal(canonicalJson({ b: [1, { d: null, c: 'x' }], a: true }), '{"a":true,"b":[1,{"c":"x","d":null}]}');
    assert.equal(contentOf({ id: 1, a: { id: 2 } }), '{"a":{"id":2}}');
    assert.equal(contentOf([{ id: 1 }]), '[{"id":1}]');
    assert.notEqual(canonicalJson([1, 2]), canonicalJson([2, 1]));
    assert.notEqual(canonicalJson('1'), canonicalJson(1));
  });

  it('parses back to the value, for any JSON', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => {
      const json: unknown = JSON.parse(JSON.stringify(value));
      assert.deepEqual(JSON.parse(canonicalJson(json)), json);
    }));
  });
});
