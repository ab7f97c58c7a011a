import assert from 'node:assert/strict';
import { agentText, failedHover, rewardText, sparkline, trend } from '../../../src/annotations/annotation-text.ts';
import type { AgentAnnotation } from '../../../trainer/protocol/annotations.ts';

const annotation = (patch: Partial<AgentAnnotation> = {}): AgentAnnotation => ({
  agent: 'agent.ts:agent', rollouts: 40, last: { rollout_id: 'ro-1', run_id: 'ru-1', outcome: 'scored', reward: 1, end_time: 1 },
  rewards: [0, 0, 0, 1, 1, 1, 0, 1], without_reward: 2, p95_s: 1.234, input_tokens: 300, output_tokens: 112, ...patch,
});

describe('the text of annotations', () => {
  it('says last and mean reward, trend, rollouts, duration and tokens', () => {
    assert.equal(agentText(annotation()), 'reward 1.00 · mean 0.50 ↗ · 40 rollouts · p95 1.23 s · 412 tokens');
  });

  it('says what happened instead of a reward, and leaves out what nobody knows', () => {
    const last = { ...annotation().last, outcome: 'timeout', reward: null } as const;
    assert.equal(agentText(annotation({ last, rewards: [], rollouts: 1, p95_s: null, input_tokens: null, output_tokens: null })), 'last: timed out · 1 rollout');
  });

  it('a trend needs enough rewards and a change that is more than noise', () => {
    assert.equal(trend([0, 1, 0, 1, 0, 1, 1]), '');
    assert.equal(trend([0, 0, 0, 0, 1, 1, 1, 1]), '↗');
    assert.equal(trend([1, 1, 1, 1, 0, 0, 0, 0]), '↘');
    assert.equal(trend([0, 1, 0, 1, 0, 1, 0, 1]), '→');
    assert.equal(trend([1, 1, 1, 1, 1, 1, 1, 1]), '→');
  });

  it('a sparkline is a distribution: from the lowest to the highest value', () => {
    assert.equal(sparkline([0, 0, 0, 0, 1]), '█▁▁▁▁▁▁▂');
    assert.equal(sparkline([0, 1, 2, 3, 4, 5, 6, 7]), '████████');
    assert.equal(sparkline([1, 1, 1]), '');
    assert.equal(sparkline([]), '');
    assert.equal(sparkline([-1, 1])[0], '█');
  });

  it('says mean and last values behind a line', () => {
    assert.equal(rewardText([0, 0.25, 1, 1]), '▄▁▄▁▁▁▁█ mean 0.56 · last 0.25, 1, 1');
    assert.equal(rewardText([1]), 'mean 1.00 · last 1');
  });

  it('says how many calls failed and why the last did', () => {
    assert.equal(failedHover({ calls: 12, failed: 2, message: 'No such model.' }), '2 of 12 LLM calls made here failed in the latest run. The last failure: No such model.');
  });
});
