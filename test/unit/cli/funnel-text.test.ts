import assert from 'node:assert/strict';
import { funnelText, stepText } from '../../../trainer/cli/funnel-text.ts';
import { aStep } from '../../fixtures/recorded-runs.ts';

describe('the funnel on a terminal', () => {
  it('shows every stage, and below it what did not reach it', () => {
    assert.equal(funnelText(aStep(2)), `samples of step 3
  rollouts        128
  LLM calls       301
  with token ids  299
                   −2  the stream broke off, e.g. ro-000000000001
  scored          293
                   −6  timeout, e.g. ro-000000000002
  trainable       214
                  −79  agent_match, e.g. ro-000000000003
  used in update  171
                  −43  group without variance, e.g. ro-000000000004`);
  });

  it('gives way to what was learned where a step had no rollouts', () => {
    const none = { rollouts: 0, calls: 0, with_token_ids: 0, scored: 0, trainable: 0, used: 0, losses: [] };
    assert.equal(stepText(aStep(2)), funnelText(aStep(2)));
    assert.equal(stepText(aStep(7, { funnel: none, reward_mean: null, loss: 4.4612, lr: 1.25e-5, trained_tokens: 131 })), `step 8
  loss                4.461
  gradient norm       0.840
  learning rate   0.0000125
  tokens trained        131`);
    assert.match(stepText(aStep(7, { funnel: none, reward_accuracy: 0.875, reward_margin: 0.5 })), /better answers preferred {2,}0\.875\n {2}reward margin {2,}0\.500\n/);
  });
});
