import assert from 'node:assert/strict';
import fc from 'fast-check';
import { toTrajectories, type Trajectory } from '../../../trainer/adapter/trajectories.ts';
import type { Transition } from '../../../trainer/adapter/transitions.ts';

function call(prompt: number[], response: number[], fields: Partial<Transition> = {}): Transition {
  return { rollout_id: 'ro-1', span_id: 's', call_index: 0, agent: null, prompt, response, logprobs: response.map((token) => -token / 100), temperature: 1, policy_version: 0, ...fields };
}

const compact = ({ tokens, mask, calls }: Trajectory) => ({ tokens, mask: mask.join(''), calls: calls.length });

describe('adapter: trajectories', () => {
  it('puts calls whose prompts continue exactly into one row, with what came between unmasked', () => {
    assert.deepEqual(toTrajectories([call([1, 2], [3, 4], { span_id: 'a' }), call([1, 2, 3, 4, 9, 9], [5], { span_id: 'b' })], 'trajectory'), [
      { rollout_id: 'ro-1', tokens: [1, 2, 3, 4, 9, 9, 5], mask: [0, 0, 1, 1, 0, 0, 1], logprobs: [0, 0, -0.03, -0.04, 0, 0, -0.05], temperature: 1, calls: [{ span_id: 'a', start: 2, length: 2 }, { span_id: 'b', start: 6, length: 1 }] },
    ]);
  });

  it('keeps which responses had to fit a format', () => {
    const [row] = toTrajectories([call([1, 2], [3, 4], { format: 'f' }), call([1, 2, 3, 4, 9], [5]), call([1, 2, 3, 4, 9, 5], [6], { format: 'g' })], 'trajectory');
    assert.deepEqual(row!.constraints, [{ start: 2, length: 2, format: 'f' }, { start: 6, length: 1, format: 'g' }]);
  });

  it('makes one row per call when asked', () => {
    assert.deepEqual(toTrajectories([call([1, 2], [3, 4]), call([1, 2, 3, 4, 9], [5])], 'transition').map(compact), [
      { tokens: [1, 2, 3, 4], mask: '0011', calls: 1 }, { tokens: [1, 2, 3, 4, 9, 5], mask: '000001', calls: 1 },
    ]);
  });

  it('appends directly when nothing came between', () => {
    assert.deepEqual(toTrajectories([call([1], [2]), call([1, 2], [3])], 'trajectory').map(compact), [{ tokens: [1, 2, 3], mask: '011', calls: 2 }]);
  });

  it('starts a row when a template rewrote history, and loses no token', () => {
    const rows = toTrajectories([call([1, 2], [8, 3]), call([1, 2, 3, 9], [4]), call([1, 2, 3, 9, 4, 6], [5])], 'trajectory');
    assert.deepEqual(rows.map(compact), [{ tokens: [1, 2, 8, 3], mask: '0011', calls: 1 }, { tokens: [1, 2, 3, 9, 4, 6, 5], mask: '0000101', calls: 2 }]);
  });

  it('starts a row at another temperature, and for another rollout', () => {
    assert.equal(toTrajectories([call([1], [2]), call([1, 2], [3], { temperature: 0.5 })], 'trajectory').length, 2);
    assert.equal(toTrajectories([call([1], [2]), call([1, 2], [3], { rollout_id: 'ro-2' })], 'trajectory').length, 2);
  });

  it('follows two conversations that take turns', () => {
    const rows = toTrajectories([call([1], [2]), call([7], [8]), call([1, 2, 3], [4]), call([7, 8, 9], [6])], 'trajectory');
    assert.deepEqual(rows.map(compact), [{ tokens: [1, 2, 3, 4], mask: '0101', calls: 2 }, { tokens: [7, 8, 9, 6], mask: '0101', calls: 2 }]);
  });

  it('gives the second branch from one history a row of its own', () => {
    const rows = toTrajectories([call([1], [2]), call([1, 2, 3], [4]), call([1, 2, 5], [6])], 'trajectory');
    assert.deepEqual(rows.map(compact), [{ tokens: [1, 2, 3, 4], mask: '0101', calls: 2 }, { tokens: [1, 2, 5, 6], mask: '0001', calls: 1 }]);
  });

  it('continues the longest of several histories', () => {
    const rows = toTrajectories([call([1], [2]), call([1], [2, 3]), call([1], [2]), call([1, 2, 3, 4], [5])], 'trajectory');
    assert.deepEqual(rows.map(compact), [
      { tokens: [1, 2], mask: '01', calls: 1 }, { tokens: [1, 2, 3, 4, 5], mask: '01101', calls: 2 }, { tokens: [1, 2], mask: '01', calls: 1 },
    ]);
  });

  it('keeps every drawn token with mask 1 in exactly one row, after exactly the context it was drawn in', () => {
    const tokens = fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 1, maxLength: 3 });
    // A step continues an earlier call (most often), or starts afresh; few token ids make accidental prefixes likely.
    const step = fc.record({ from: fc.option(fc.nat(20), { freq: 4 }), between: fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 2 }), response: tokens, temperature: fc.constantFrom(1, 1, 1, 0.5), rollout: fc.constantFrom('ro-1', 'ro-1', 'ro-2') });
    fc.assert(fc.property(fc.array(step, { maxLength: 12, size: 'max' }), fc.constantFrom('transition' as const, 'trajectory' as const), (steps, aggregation) => {
      let drawn = 0;
      const transitions: Transition[] = [];
      for (const { from, between, response, temperature, rollout } of steps) {
        const previous = from === null ? undefined : transitions[from % Math.max(1, transitions.length)];
        const prompt = [...(previous ? [...previous.prompt, ...previous.response] : [1]), ...between];
        // Each drawn token is told apart by its log-probability.
        transitions.push(call(prompt, response, { temperature, rollout_id: rollout, logprobs: response.map(() => -(++drawn)) }));
      }
      const rows = toTrajectories(transitions, aggregation);
      const found = new Map<number, { row: Trajectory; position: number }>();
      for (const row of rows) {
        assert.equal(row.mask.length, row.tokens.length);
        assert.equal(row.logprobs.length, row.tokens.length);
        row.mask.forEach((mask, position) => {
          if (mask === 0) return assert.equal(row.logprobs[position], 0);
          assert.ok(!found.has(row.logprobs[position]!), 'twice');
          found.set(row.logprobs[position]!, { row, position });
        });
      }
      assert.equal(found.size, drawn);
      assert.equal(rows.reduce((sum, { calls }) => sum + calls.length, 0), transitions.length);
      for (const { rollout_id, prompt, response, logprobs, temperature } of transitions) {
        const { row, position } = found.get(logprobs[0]!)!;
        assert.deepEqual(row.tokens.slice(0, position + response.length), [...prompt, ...response]);
        assert.deepEqual(row.logprobs.slice(position, position + response.length), logprobs);
        assert.deepEqual([row.rollout_id, row.temperature], [rollout_id, temperature]);
      }
      if (aggregation === 'transition') assert.equal(rows.length, transitions.length);
    }), { numRuns: 300 });
  });
});
