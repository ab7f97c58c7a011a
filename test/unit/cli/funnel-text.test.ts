import assert from 'node:assert/strict';
import { funnelText } from '../../../trainer/cli/funnel-text.ts';
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
});
